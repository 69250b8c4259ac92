"""Without a process: what a program started in this environment would get."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import support
from support import (Case, DOCTOR, PYTHON, by_path, clean_environment, doctor, findings, fixture,
                     need_root)

NAMES = ["libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"]
# What the loader finds, asked independently of the program.
ASK = """
import ctypes, sys
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
    except OSError:
        continue
    print(name)
    break
"""


def loader_finds(env):
    done = subprocess.run([PYTHON, "-I", "-c", ASK, *NAMES], env=env, capture_output=True,
                          text=True)
    return done.stdout.strip()


def mapped(report):
    return [each for each in report["runtimes"] if each["loaded"]]


def running_self_targets():
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"__self-target" in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
            except OSError:
                pass
    return found


class Loader(Case):
    def test_an_empty_environment(self):
        report = self.report(env={})
        self.assertEqual(report["target"]["mode"], "environment")
        self.assertEqual(report["target"]["origin"], "self")
        expected = loader_finds({})
        self.assertEqual(len(mapped(report)), 1 if expected else 0)
        notes = " ".join(report["target"]["loaded_for_this_look"])
        self.assertIn(f"the loader finds {expected or 'none of ' + ', '.join(NAMES)}", notes)
        self.assertIn("environment only: no program was started", doctor(env={}).text)

    def test_the_runtime_in_the_library_path(self):
        path = self.runtime("13.2")
        report = self.report(env=clean_environment(LD_LIBRARY_PATH=str(self.folder)))
        self.assertEqual([each["path"] for each in mapped(report)], [str(path)])
        runtime = by_path(report, path)
        self.assertEqual((runtime["kind"], runtime["version"][:4]), ("genuine", "13.2"))
        self.assertEqual(report["verdict"]["exit_code"], 0)

    def test_the_library_path_outranks_a_newer_runtime_of_the_system(self):
        path = self.runtime("12.8")
        env = clean_environment(LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual([each["path"] for each in mapped(self.report(env=env))], [str(path)])

    def test_a_stand_in_that_was_asked_for(self):
        stub = self.runtime("tilelang-0.1.11")
        self.runtime("13.0")
        env = clean_environment(LD_LIBRARY_PATH=str(self.folder))
        for policy in ("flashinfer-legacy-rt11", "flashinfer-2026-09"):
            report = self.report("--load", stub, "--policy", policy, env=env)
            self.assertEqual(by_path(report, stub)["kind"], "shim")
            self.assertIn("RT03", findings(report))
            chosen = support.selection(report, policy)
            takes_stub = chosen["runtime"] == by_path(report, stub)["ref"]
            if policy == "flashinfer-2026-09":
                self.assertFalse(takes_stub)
            lowest = min(mapped(report), key=lambda each: int(each["address"], 16))
            if policy == "flashinfer-legacy-rt11":
                self.assertEqual(takes_stub, lowest["path"] == str(stub))
                self.assertEqual("RT04" in findings(report), takes_stub)

    def test_a_runtime_that_was_asked_for_stays_the_only_one(self):
        path = self.runtime("12.8", folder="asked")
        self.runtime("13.2")
        report = self.report("--load", path, env=clean_environment(LD_LIBRARY_PATH=str(self.folder)))
        self.assertEqual([each["path"] for each in mapped(report)], [str(path)])
        self.assertFalse([each["headline"] for each in report["findings"]
                          if "mapped in one process" in each["headline"]])
        # The child is this program, which holds the texts of cuDNN's front end only to search for them.
        self.assertEqual([each["severity"] for each in report["findings"] if each["id"] == "RT06"], ["info"])
        self.assertNotIn("front end is mapped", str(report["findings"]))
        self.assertIn("a runtime came with it; the loader was asked for no other",
                      report["target"]["loaded_for_this_look"])

    def test_in_a_system_without_any(self):
        """The loader's cache hidden: only what the test brings can be found."""
        need_root(self)
        support.need_program(self, "unshare")
        path, stub = self.runtime("12.8"), self.runtime("tilelang-0.1.11", folder="tilelang")
        # A valid cache of the system's directories alone.
        support.need_program(self, "/sbin/ldconfig")
        cache = self.folder / "cache"
        subprocess.run(["/sbin/ldconfig", "-X", "-f", "/dev/null", "-C", cache], check=True,
                       capture_output=True)
        hide = ["unshare", "-m", "sh", "-ec",
                'mount --bind "$0" /etc/ld.so.cache; exec "$@"', cache]
        asked = subprocess.run([*hide, PYTHON, "-I", "-c", ASK, *NAMES], capture_output=True)
        if asked.stdout:
            self.skipTest("a runtime lies in a system directory")
        hidden = [*hide, DOCTOR]
        report = self.report(program=hidden)
        self.assertEqual(mapped(report), [])
        report = self.report(program=hidden,
                             env=clean_environment(LD_LIBRARY_PATH=str(self.folder)))
        self.assertEqual([each["path"] for each in mapped(report)], [str(path)])
        self.assertEqual(by_path(report, path)["version"][:4], "12.8")
        # No PATH: whether FlashInfer is installed is not known, so that its rule counts.
        report = self.report("--load", stub, "--policy", "flashinfer-legacy-rt11", program=hidden,
                             env={})
        self.assertEqual([each["path"] for each in mapped(report)], [str(stub)])
        self.assertEqual(findings(report).get("RT04"), "critical")
        self.assertEqual(report["verdict"]["exit_code"], 1)
        # One installed in the active Python environment is opened, of two neither.
        venv = Venv(self)
        runtime = venv.install("cudart-12.8")
        env = clean_environment(VIRTUAL_ENV=str(venv.root))
        for options, environment in (([], env), (["--python", venv.python], clean_environment())):
            report = self.report(*options, program=hidden, env=environment)
            self.assertEqual([each["path"] for each in mapped(report)], [str(runtime)])
            note = " ".join(report["target"]["loaded_for_this_look"])
            self.assertIn("opened the one installed in the Python environment", note)
            self.assertIn(str(runtime), note)
            self.assertEqual(by_path(report, runtime)["package"],
                             "nvidia-cuda-runtime-cu12 12.8.90")
        self.assertEqual(mapped(self.report(program=hidden)), [])
        venv.install("cudart-13.0")
        report = self.report(program=hidden, env=env)
        self.assertEqual(mapped(report), [])
        self.assertIn("2 runtimes installed in the Python environment; none was opened",
                      " ".join(report["target"]["loaded_for_this_look"]))


class Venv:
    """Enough of a virtual environment for one who only looks."""

    def __init__(self, test):
        self.test = test
        self.root = test.folder / "venv"
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        self.site = self.root / f"lib/python{version}/site-packages"
        self.site.mkdir(parents=True)
        (self.root / "bin").mkdir()
        self.python = self.root / "bin/python"
        self.python.symlink_to(os.path.realpath(PYTHON))
        (self.root / "pyvenv.cfg").write_text(
            f"home = {os.path.dirname(os.path.realpath(PYTHON))}\nversion = {version}.0\n")

    def install(self, name):
        source, pattern = next(value for value in support.RUNTIMES.values() if value[0] == name)
        library = fixture(self.test, source, pattern)
        root = library
        for _ in pathlib.PurePath(pattern).parts:
            root = root.parent
        target = self.site / pattern
        target.parent.mkdir(parents=True)
        shutil.copyfile(library, target)
        information = next(root.glob("*.dist-info"))
        shutil.copytree(information, self.site / information.name)
        return target


class Loads(Case):
    def test_a_library_that_is_not_there(self):
        message = self.failure(2, "--load", "/nonexistent/lib.so")
        self.assertIn("--load /nonexistent/lib.so: cannot open shared object file", message)
        self.assertIn("no file name", self.failure(2, "--load", ""))

    def test_a_file_that_is_no_library(self):
        path = self.folder / "text.so"
        path.write_text("no library")
        message = self.failure(2, "--load", path)
        self.assertIn(f"--load {path}: ", message)

    def test_a_library_whose_need_is_missing(self):
        self.compile("libneeded.so", "int f(void) { return 1; }", "-Wl,-soname,libneeded.so")
        path = self.compile("libneeds.so", "int f(void); int g(void) { return f(); }",
                            "-L", str(self.folder), "-lneeded")
        (self.folder / "libneeded.so").unlink()
        message = self.failure(2, "--load", path)
        self.assertIn("libneeded.so", message)
        self.assertIn(str(path), message)

    def test_a_constructor_that_crashes(self):
        for code, text in (("abort();", "SIGABRT"), ("_exit(0);", "exit code 0"),
                           ("raise(11);", "SIGSEGV")):
            path = self.compile("libcrash.so", "#include <stdlib.h>\n#include <signal.h>\n"
                                "#include <unistd.h>\n__attribute__((constructor)) "
                                "static void begin(void) { %s }" % code)
            message = self.failure(3, "--load", path)
            self.assertIn(f"opening {path} ended the child with {text}", message)
        self.assertEqual(running_self_targets(), [])

    def test_a_constructor_that_never_returns(self):
        path = self.compile("libhang.so", "#include <unistd.h>\n__attribute__((constructor)) "
                            "static void begin(void) { for (;;) pause(); }")
        started = time.monotonic()
        message = self.failure(3, "--timeout", "0.4", "--load", path)
        self.assertLess(time.monotonic() - started, 6)
        self.assertIn("no answer within the deadline", message)
        self.assertIn(str(path), message)
        self.assertEqual(running_self_targets(), [])

    def test_what_a_constructor_prints_is_not_the_report(self):
        path = self.compile("libloud.so", "#include <stdio.h>\n__attribute__((constructor)) "
                            'static void begin(void) { puts("loud"); fflush(stdout); }')
        ended = doctor("--json", "--load", path)
        self.assertEqual(ended.document["target"]["mode"], "environment")
        self.assertEqual(ended.message, "loud\n")

    def test_a_constructor_that_sends_the_worker_away(self):
        path = self.compile("libkill.so", "#include <signal.h>\n#include <unistd.h>\n"
                            "__attribute__((constructor)) static void begin(void) "
                            "{ kill(getppid(), SIGKILL); pause(); }")
        message = self.failure(3, "--load", path)
        self.assertIn("SIGKILL", message)
        self.assertEqual(running_self_targets(), [])

    def test_an_interrupt_leaves_nothing_behind(self):
        path = self.compile("libhang.so", "#include <unistd.h>\n__attribute__((constructor)) "
                            "static void begin(void) { for (;;) pause(); }")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            running = subprocess.Popen([DOCTOR, "--load", path], stdout=subprocess.DEVNULL)
            end = time.monotonic() + 10
            while not running_self_targets() and time.monotonic() < end:
                os.sched_yield()
            running.send_signal(number)
            self.assertEqual(running.wait(10), -number)
            while running_self_targets() and time.monotonic() < end:
                os.sched_yield()
            self.assertEqual(running_self_targets(), [])


class NothingIsMapped(Case):
    """The point of looking from outside: the program maps no CUDA library itself."""

    def runs(self):
        path = self.runtime("13.2")
        env = clean_environment(LD_LIBRARY_PATH=str(self.folder))
        victim = self.victim(f"load({str(path)!r})")
        snapshot = self.folder / "snapshot"
        self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", snapshot).code, 0)
        return [(["--pid", str(victim.pid)], clean_environment()), ([], env),
                (["--from", str(snapshot)], env), (["--load", str(path)], env)]

    def test_while_the_report_waits_for_its_reader(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for arguments, env in self.runs():
            running = subprocess.Popen([DOCTOR, *arguments, "-o", fifo], env=env)
            # Opening succeeds only when the program opens the other end: its work is done, and
            # the report is larger than nothing, so that it is still there.
            with open(fifo, "rb") as reader:
                maps = pathlib.Path(f"/proc/{running.pid}/maps").read_text()
                out = reader.read()
            self.assertIn(running.wait(10), (0, 1))
            self.assertIn(b"libcudart.so.13", out)
            if maps:  # Empty where the program was so quick that it is a zombie by now.
                self.assertIn("cudart-doctor", maps)
                self.assertNotRegex(maps, r"libcudart|libcuda\.|libnv")

    def test_by_the_system_calls_of_parent_and_worker(self):
        support.need_program(self, "strace")
        trace = self.folder / "trace"
        for arguments, env in self.runs():
            done = subprocess.run(["strace", "-f", "-y", "-e", "trace=mmap,execve,ptrace,openat",
                                   "-o", trace, DOCTOR, *arguments], env=env, capture_output=True)
            if b"Operation not permitted" in done.stderr:
                self.skipTest("strace may not trace here")
            lines = trace.read_text().splitlines()
            # The child that stands for a program started here maps the runtime, as it is to.
            targets = {line.split()[0] for line in lines if "__self-target" in line}
            looks_at_another = "--pid" in arguments or "--from" in arguments
            self.assertEqual(len(targets), 0 if looks_at_another else 1)
            own = [line for line in lines if line.split()[0] not in targets]
            self.assertGreater(len(own), 10)
            bad = [line for line in own
                   if re.search(r"mmap\(.*(libcudart|libcuda\.|libnv)", line) or "ptrace(" in line]
            self.assertEqual(bad, [])
            if "--pid" in arguments:
                wrote = [line for line in own
                         if re.search(r"openat\(.*/\d+/mem\"?.*O_(RDWR|WR)", line)]
                self.assertEqual(wrote, [])


support.main()
