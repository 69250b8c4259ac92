"""The command cannot tell that it is watched, and what is wrong with the watcher's place or paper
does not reach it."""
import json
import os
import subprocess


import support
from watching import RunCase
from support import NOBODY, PYTHON, doctor, findings, need_program, need_root

# What a program can know about its start, but for numbers that differ from start to start.
SELF = """
import json, os, resource, signal, sys
status = dict(line[:-1].split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
descriptors = {}
for name in os.listdir("/proc/self/fd"):
    try:
        descriptors[name] = os.readlink("/proc/self/fd/" + name)
    except OSError:
        pass
environment = dict(os.environ)
environment.pop("LD_AUDIT", None)  # What the recorder needs.
print(json.dumps({
    "arguments": sys.orig_argv, "environment": environment, "descriptors": sorted(descriptors),
    "places": [descriptors.get(name) for name in ("0",)], "cwd": os.getcwd(),
    "signals": [status[name] for name in ("SigBlk", "SigIgn", "SigCgt", "ShdPnd")],
    "dumpable": [status[name] for name in ("NoNewPrivs", "Seccomp", "CapEff", "Umask")],
    "limits": [resource.getrlimit(each) for each in range(16)], "nice": os.nice(0),
    "same group": os.getpgrp() == int(sys.argv[1]), "session": os.getsid(0),
    "modules": sorted(sys.modules), "path": sys.path, "flags": list(sys.flags),
    "hooks": [str(sys.gettrace()), str(sys.getprofile())], "affinity": sorted(os.sched_getaffinity(0)),
    "stdin": sys.stdin.read(), "maps": [line.split()[-1] for line in open("/proc/self/maps")
                                        if "cuda" in line]}, sort_keys=True))
"""

LOADS = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) puts(dlopen(words[i], RTLD_NOW) ? "ok" : dlerror());
  return 0;
}
"""


class Untouched(RunCase):
    def test_what_a_program_knows_about_itself_is_the_same(self):
        script = self.folder / "self.py"
        script.write_text(SELF)
        command = [PYTHON, "-E", script, os.getpgrp(), "a b", "*", ""]
        typed = self.folder / "typed"
        typed.write_text("some input")
        told = []
        for start in (self.bare, self.watch):
            with typed.open() as stdin:
                ended = start(*command, stdin=stdin)
            self.assertEqual(ended.code, 0, ended.err)
            told.append(json.loads(ended.out))
        self.assertEqual(*told)
        self.assertEqual((told[1]["stdin"], told[1]["maps"]), ("some input", []))

    def test_output_is_byte_for_byte_the_commands_own(self):
        command = ["/bin/sh", "-c", "printf 'a\\0b\\377'; printf 'e\\n' >&2; exit 3"]
        bare, ended = self.bare(*command), self.watch(*command)
        self.assertEqual((ended.code, ended.out, ended.err), (bare.code, bare.out, bare.err))

    def test_a_program_that_checks_its_leaks_is_left_alone(self):
        program = self.executable("loads", LOADS, "-fsanitize=address")
        for words in ([], [self.runtime("12.8")]):
            bare, ended = self.bare(program, *words), self.watch(program, *words)
            self.assertEqual((ended.code, ended.out, ended.err), (bare.code, bare.out, bare.err))
        self.assertEqual(doctor("run", "--judge-exit", "--", program).code, 0, "no CUDA, no doubt")

    def test_every_way_of_starting_python(self):
        path = self.runtime("12.8")
        for flags in ((), ("-I",), ("-E",), ("-S",), ("-s",), ("-B", "-O"), ("-X", "importtime")):
            with self.subTest(flags=flags):
                ended = self.watch(*self.python(f"load({str(path)!r})", "tell('it')", flags=flags))
                self.assertEqual(ended.code, 0, ended.err)
                event, = ended.events(path.name)
                self.assert_stack(event, self.told("it")["loads"][0]["stack"])

    def test_the_users_own_sitecustomize(self):
        path = self.runtime("12.8")
        for text in ("print('mine')", "raise SystemExit(4)", "raise ValueError('mine')",
                     f"import ctypes; ctypes.CDLL({str(path)!r})"):
            with self.subTest(text):
                place = self.folder / "customized"
                place.mkdir(exist_ok=True)
                (place / "sitecustomize.py").write_text(text + "\n")
                env = self.environment(PYTHONPATH=str(place), PYTHONDONTWRITEBYTECODE="1")
                command = [PYTHON, "-c", "print('end')"]
                bare, ended = self.bare(*command, env=env), self.watch(*command, env=env)
                self.assertEqual((ended.code, ended.out, ended.err),
                                 (bare.code, bare.out, bare.err))
        event, = ended.events(path.name)
        self.assertIn([str(place / "sitecustomize.py"), 1, "<module>"],
                      [[each["file"], each["line"], each["function"]]
                       for each in event["python"]])

    def test_a_command_that_cannot_be_started(self):
        plain = self.folder / "not-executable"
        plain.write_text("text")
        for command, code in (("no-such-program-anywhere", 127), (self.folder / "absent", 127),
                              (plain, 126), (self.folder, 126)):
            with self.subTest(command=command):
                ended = doctor("run", "--", command, env=self.environment())
                self.assertEqual((ended.code, ended.out), (code, b""), ended.message)
                self.assertIn(os.path.basename(str(command)), ended.message)

    def test_a_command_without_cuda_ends_as_itself_in_a_few_lines(self):
        ended = doctor("run", "--", "/bin/sh", "-c", "exit 42", env=self.environment())
        self.assertEqual((ended.code, ended.out), (42, b""))
        self.assertLessEqual(len(ended.message.splitlines()), 4, ended.message)


class Places(RunCase):
    """Full and forbidden disks: a mount namespace of its own, in which small file systems lie."""

    def in_namespace(self, setup, *command, **more):
        need_root(self)
        need_program(self, "unshare")
        probe = subprocess.run(["unshare", "-m", "true"], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("no mount namespace: " + probe.stderr.decode().strip())
        quoted = " ".join("'" + str(each).replace("'", "'\\''") + "'" for each in command)
        return self.bare("unshare", "-m", "/bin/sh", "-ec", f"{setup}\nexec {quoted}", **more)

    def full(self, *places):
        return "\n".join(f"mount -t tmpfs -o size=4k none {place}; "
                         f"head -c 4096 /dev/zero > {place}/filler" for place in places)

    def pieces(self):
        paths = [self.runtime("12.8", folder="a"), self.runtime("12.4", folder="b")]
        return self.python(*(f"load({str(path)!r})" for path in paths), "be_seen()",
                           "print('done')", "sys.exit(5)")

    def test_a_full_place_is_passed_over(self):
        small = self.folder / "small"
        small.mkdir()
        report = self.told_folder / "report.json"
        ended = self.in_namespace(
            self.full(small), support.DOCTOR, "run", "--json", "-o", report, "--", *self.pieces(),
            env=self.environment(TMPDIR=str(small)))
        self.assertEqual((ended.code, ended.out), (5, b"done\n"), ended.message)
        document = json.loads(report.read_text())
        self.assertEqual(len([each for each in document["run"]["events"]
                              if each["path"].endswith("libcudart.so.12")]), 2)

    def test_without_any_place_it_goes_on_from_proc(self):
        # The test's own folder lies under /tmp, which is to be full: it goes elsewhere.
        home = self.folder / "home"
        home.mkdir()
        ended = self.in_namespace(
            f"mkdir -p /mnt/r && mount --bind {self.folder} /mnt/r\n"
            f"{self.full('/tmp', '/dev/shm', '/var/tmp')}\nmount -t tmpfs none /run\n"
            f"mkdir -p {self.folder} && mount --bind /mnt/r {self.folder}",
            support.DOCTOR, "run", "--json", "-o", self.told_folder / "report.json", "--",
            *self.pieces(), env=self.environment(TMPDIR="/tmp"))
        self.assertEqual((ended.code, ended.out), (5, b"done\n"), ended.message)
        document = json.loads((self.told_folder / "report.json").read_text())
        self.assertEqual(findings(document)["RT05"], "error")
        self.assertTrue(document["run"]["limits"])

    def test_a_full_disk_for_the_report_is_the_reports_trouble(self):
        small = self.folder / "paper"
        small.mkdir()
        for options, code in (((), 5), (("--judge-exit",), 5)):
            with self.subTest(options=options):
                ended = self.in_namespace(
                    self.full(small), support.DOCTOR, "run", "--json", "-o", small / "report",
                    *options, "--", *self.pieces(), env=self.environment())
                self.assertEqual(ended.out, b"done\n")
                self.assertIn("report", ended.message)
                if not options:
                    self.assertEqual(ended.code, code, ended.message)
        ended = doctor("run", "-o", "/dev/full", "--", *self.pieces(), env=self.environment())
        self.assertEqual((ended.code, ended.out), (5, b"done\n"), ended.message)
        self.assertIn("/dev/full", ended.message)

    def test_nothing_is_left_behind(self):
        place = self.folder / "place"
        place.mkdir()
        os.chmod(place, 0o777)
        env = self.environment(TMPDIR=str(place))
        for command in (self.pieces(), ["/bin/true"], ["no-such-program-anywhere"]):
            doctor("run", "-o", "/dev/null", "--", *command, env=env)
            self.assertEqual(os.listdir(place), [])


support.main()
