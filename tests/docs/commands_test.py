"""Every command that the documentation shows, run for real with stand-ins; every link leads somewhere.

commands_test.py PROGRAM [unittest arguments]

A line of a code block that names the program is a command, or stands in NO_COMMAND. What a reader would
have (a server with PID 4121, port 8000, `vllm`, `ssh`, ...) is laid out in a folder; MAPPED puts it in place
of the names. A command whose exit code is not 0 has a row in EXPECTED.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
CI = os.environ.get("CI") in ("true", "1")
if len(sys.argv) < 2:
    sys.exit(__doc__)
DOCTOR = os.path.abspath(sys.argv.pop(1))
LIMIT_S = 60
FIXTURES = pathlib.Path(os.environ.get("CUDART_DOCTOR_FIXTURES") or os.path.expanduser(
    os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/cudart-doctor/fixtures"))
RUNTIME = FIXTURES / "cudart-12.8/nvidia/cuda_runtime/lib/libcudart.so.12"

PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", SOURCE / "CHANGELOG.md",
         *sorted((SOURCE / "docs").rglob("*.md"))]
MANUAL = SOURCE / "docs/man/cudart-doctor.1"
# Of measurements, what was run then; of decisions, nothing to be run.
SHOWS_COMMANDS = [page for page in PAGES if page.parent.name not in ("measurements", "adr") and
                  page.name not in ("CONTRIBUTING.md", "CHANGELOG.md", "releasing.md")]

# Lines that name the program and are none of its commands: output, configuration.
NO_COMMAND = (
    r"^MORE  ", r"\"(source|command|path)\": ", r"^command: \[", r"^args: \[", r"^CUDART ", r"name: cudart-doctor",
    r"^\s*#", r"^apt install |^dpkg |^pip install |^tar ",  # tests/package installs
    r"^Description|^ExecStart.*%|image: ",
)
# What a page shows, and what stands in its place here; {...} are the sandbox's own.
MAPPED = (
    (r"\[ID\]|\[OPTIONS\]", ""),
    (r"-- CMD ARG\.\.\.", "-- true"),
    (r"\$ARG1\$", "8000"),
    (r"port:8000 -- vllm serve MODEL", "port:{free} -- vllm serve {free}"),
    (r"stable:20\b", "stable:0.05"),
    (r"--peer 4188", "--peer {peer}"),
    (r"\b(41\d\d|1467)\b", "{pid}"),
    (r"/usr/bin/(jq|scontrol)", r"\1"),
    (r"--port 8000\b", "--port {port}"),
    (r"/usr/local/bin/cudart-doctor|build/release/cudart-doctor|scripts/doctor", "cudart-doctor"),
    (r"/var/lib/node_exporter/textfile/", "textfile/"),
    (r"/dev/termination-log", "termination-log"),
)
# The first row that is found in the command as it is shown; else 0.
EXPECTED = (
    (r"--probe require", {0, 1, 3}),                               # by whether a driver and a card are here
    (r"--exit-style always-zero", {0}),
    (r"(--all|tree ).*nagios", {0, 1, 2, 3}),                      # what else runs on this machine decides
    (r"--all|tree ", {0, 1, 3}),
    (r"stable:20", {0, 3}),                                        # the program may end first
    (r"--exit-style nagios", {0, 1, 3}),
    (r"cudart-doctor diff (good|rank0|r-|~/)", {1}),                     # they differ
    (r"cudart-doctor diff snap -", {1}),
    (r"cudart-doctor --from|--probe on|--peer", {0, 1, 3}),
)


def blocks(text):
    """Lines of code blocks; one that ends in a backslash goes on in the next. A block of bash is one command."""
    for script in re.findall(r"^ *```bash\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        yield script
    inside, pending = False, ""
    for line in re.sub(r"^ *```bash\n.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL).splitlines():
        if line.lstrip().startswith("```"):
            inside, pending = not inside, ""
        elif inside:
            line = pending + line.strip()
            pending = line[:-1] if line.endswith("\\") else ""
            if not pending:
                yield line


def command_of(line):
    """The command in a line that names the program; None where it is none."""
    if any(re.search(each, line) for each in NO_COMMAND):
        return None
    line = re.sub(r"^(\$ |command_line +|run: |- )", "", line)
    if "\n" in line:
        return line
    # What it is for stands to the right, behind two blanks.
    return re.split(r" {2,}", line.strip())[0]


def shown_commands():
    found = {}
    for page in SHOWS_COMMANDS:
        for line in blocks(page.read_text()):
            if re.search(r"(^|[\s/(])cudart-doctor(\s|$)", line) or line.startswith("scripts/doctor"):
                found.setdefault(command_of(line), page.relative_to(SOURCE))
    examples = MANUAL.read_text().partition(".SH EXAMPLES")[2].partition(".SH ")[0]
    for line in examples.splitlines():
        if line.startswith("\\fBcudart"):
            found.setdefault(line[3:].removesuffix("\\fR").replace("\\-", "-"), MANUAL.relative_to(SOURCE))
    found.pop(None, None)
    return found


SERVER = """
import ctypes, socket, sys
library = ctypes.CDLL(sys.argv[1])
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])))
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""
LOADS = f"import ctypes\nctypes.CDLL({str(RUNTIME)!r})\n"
PROGRAMS = {
    # A server that ends once it was looked at for a second.
    "vllm": f"#!{sys.executable}\n" + LOADS + "import signal, socket, sys\n"
            "port = int(sys.argv[2]) if sys.argv[2].isdigit() else 0\n"
            "kept = socket.create_server(('127.0.0.1', port))\n"
            "signal.sigtimedwait([signal.SIGUSR1], 1)\n",
    "python": f"#!/bin/sh\nexec {sys.executable} \"$@\"\n",
    "sudo": "#!/bin/sh\nexec \"$@\"\n",
    "ssh": "#!/bin/sh\nshift\nexec sh -c \"$*\"\n",
    "scontrol": "#!/bin/sh\nexit 0\n",
    # The page's filter is for the real one.
    "jq": "#!/bin/sh\nif [ -x /usr/bin/jq ]; then exec /usr/bin/jq \"$@\"; fi\nexec cat >/dev/null\n",
    "gh": "#!/bin/sh\nexec cat >/dev/null\n",
    "srun": "#!/bin/sh\nwhile :; do case $1 in -*) shift ;; *) break ;; esac; done\nexec \"$@\"\n",
}


def anchors(page):
    """The names of a page's headings, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]|\]\([^)]*\)", "", heading).strip().lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)}


class Links(unittest.TestCase):
    def test_every_relative_link_leads_to_a_file_and_a_heading(self):
        broken, seen = [], 0
        for page in PAGES:
            text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"[a-z]+:", link):
                    continue
                seen += 1
                name, _, anchor = link.partition("#")
                target = (page.parent / name).resolve() if name else page
                if not target.exists() or anchor and target.suffix == ".md" and anchor not in anchors(target):
                    broken.append(f"{page.relative_to(SOURCE)}: {link}")
        self.assertGreater(seen, 30)
        self.assertEqual(broken, [])


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not RUNTIME.exists():
            if CI:
                raise AssertionError("no fixture cudart-12.8 (scripts/fetch-fixtures)")
            raise unittest.SkipTest("no fixture cudart-12.8 (scripts/fetch-fixtures)")
        cls.here = tempfile.TemporaryDirectory(prefix="cudart-doctor-docs.")
        cls.addClassCleanup(cls.here.cleanup)
        cls.folder = pathlib.Path(cls.here.name)
        server, port = cls.start_server()
        peer, _ = cls.start_server()
        with socket.create_server(("127.0.0.1", 0)) as free:
            cls.names = {"free": free.getsockname()[1], "port": port, "pid": server, "peer": peer}
        cls.lay_out()

    @classmethod
    def start_server(cls):
        """PID and port of a process that has a real runtime and listens."""
        server = subprocess.Popen([sys.executable, "-c", SERVER, RUNTIME, "0"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.stop, server)
        return server.pid, int(server.stdout.readline())

    @staticmethod
    def stop(server):
        server.communicate(timeout=LIMIT_S)

    @classmethod
    def lay_out(cls):
        folder = cls.folder
        (folder / "bin").mkdir()
        for name, text in PROGRAMS.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        (folder / "bin/cudart-doctor").symlink_to(DOCTOR)
        for name in ("textfile", ".github", "build", "nodes", "ranks"):
            (folder / name).mkdir()
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
        for name in ("serve.py", "check.py", "myserver.py"):
            (folder / name).write_text(LOADS)
        for name in ("allow.txt", ".github/cudart-allow.txt"):
            (folder / name).write_text("RT06\n")
        (folder / "mine.json").write_text(re.search(
            r"```json\n(.*?)```", (SOURCE / "docs/policies.md").read_text(), re.DOTALL)[1])
        (folder / "server.log").write_text("RuntimeError: CUDA error: invalid resource handle\n")
        golden = SOURCE / "tests/golden"
        for name, snapshot in (("good", "healthy"), ("now", "stub_first"), ("rank0", "healthy"),
                               ("rank1", "healthy"), ("rank2", "stub_first"), ("rank3", "healthy"),
                               # What the loops of docs/fleet.md leave where there are ranks and nodes.
                               *((f"{prefix}{i}", ("healthy", "stub_first")[i])
                                 for prefix in ("r-", "nodes/", "ranks/") for i in range(2))):
            done = cls.run_doctor("--from", golden / snapshot, "--json")
            (folder / f"{name}.json").write_bytes(done.stdout)

    @classmethod
    def environment(cls):
        return {"PATH": f"{cls.folder}/bin:/usr/bin:/bin", "HOME": str(cls.folder), "LC_ALL": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1"}

    @classmethod
    def run_doctor(cls, *arguments):
        return subprocess.run([DOCTOR, *arguments], capture_output=True, timeout=LIMIT_S, env=cls.environment(),
                              stdin=subprocess.DEVNULL, check=False)

    def run_shown(self, command):
        for shown, here in MAPPED:
            command = re.sub(shown, here.format(**self.names), command)
        # bash: a page may show <(...).
        return subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, timeout=LIMIT_S,
                              env=self.environment(), stdin=subprocess.DEVNULL, text=True, errors="replace", check=False)

    def test_each_ends_as_the_page_says(self):
        commands = shown_commands()
        self.assertGreater(len(commands), 40)
        # Others read the folder that snapshot writes, and it writes none twice.
        for command, page in sorted(commands.items(), key=lambda each: "snapshot" not in each[0]):
            if "snapshot --pid" in command:
                subprocess.run(["rm", "-rf", self.folder / "snap"], check=True)
            with self.subTest(command, page=str(page)):
                allowed = next((codes for pattern, codes in EXPECTED if re.search(pattern, command)), {0})
                done = self.run_shown(command)
                self.assertIn(done.returncode, allowed, f"{done.stdout}\n{done.stderr}")
                self.assertNotRegex(done.stderr, r"command not found|Traceback")


class Messages(unittest.TestCase):
    def test_what_the_troubleshooting_page_quotes_is_a_text_of_the_program(self):
        # Literals that stand one behind the other are one text.
        source = "\n".join(re.sub(r'"\s*\n\s*"', "", path.read_text())
                           for folder in ("src", "include") for path in sorted((SOURCE / folder).rglob("*.?pp")))
        titles = re.findall(r"^### (.*)$", (SOURCE / "docs/troubleshooting.md").read_text(), re.MULTILINE)
        quoted = [text for title in titles for text in re.findall(r"`([^`]+)`", title)]
        self.assertGreater(len(quoted), 15)
        self.assertEqual([text for text in quoted if text not in source], [])


class Tests(unittest.TestCase):
    def test_those_that_a_page_names_are_there(self):
        """In brackets and in the columns of tables that hold nothing else."""
        named = set()
        for name, least in (("security", 12), ("reliability", 25)):
            page = (SOURCE / f"docs/{name}.md").read_text()
            found = {name for each in re.findall(r"\(([^()]*`[^()]*)\)|(?<=\| )(`[^|]*`)(?= \|)", page)
                     for name in re.findall(r"`([a-z]+_[a-z_]+)\*?`", "".join(each))}
            self.assertGreater(len(found), least)
            named |= found
        listed = " ".join(path.read_text() for path in (SOURCE / "tests").rglob("CMakeLists.txt"))
        self.assertEqual([name for name in sorted(named) if not re.search(rf"\b{name}", listed)], [])


class Scripts(unittest.TestCase):
    def test_every_script_that_a_page_names_is_there_and_can_be_executed(self):
        named = {name for page in PAGES for name in re.findall(r"\bscripts/([a-z][a-z_.-]*[a-z])\b(?!/)", page.read_text())}
        self.assertGreater(len(named), 5)
        for name in sorted(named):
            path = SOURCE / "scripts" / name
            self.assertTrue(path.is_dir() or path.suffix == ".py" or os.access(path, os.X_OK), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
