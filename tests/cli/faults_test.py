"""Every system call of the program made to fail once, by strace: never a crash, a hang, a clean bill
of health, half a document, or something left behind.

Each run of a command fails one call: the Nth of its kind in every one of the command's processes and
threads. What stands in NOT_INJECTED cannot fail so in a kernel, or belongs to the dynamic loader.
"""
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import support
from support import VALIDATOR, Case, alive, clean_environment, need_program

# What each call fails with: what a full, tired or hostile machine answers.
ERRORS = {
    "access": "EIO", "clone": "EAGAIN", "clone3": "EAGAIN", "close": "EIO", "connect": "ECONNREFUSED", "dup": "EMFILE",
    "dup2": "EMFILE", "dup3": "EMFILE", "epoll_create1": "EMFILE", "epoll_ctl": "ENOMEM", "epoll_wait": "EINTR", "fchmod": "EPERM",
    "fchown": "EPERM", "fcntl": "EMFILE", "fork": "EAGAIN", "fstatfs": "EIO", "fsync": "EIO", "ftruncate": "EIO", "getdents64": "EIO",
    "getrandom": "ENOSYS", "ioctl": "ENOTTY", "kill": "EPERM", "link": "EIO", "linkat": "EIO", "lseek": "EIO", "madvise": "ENOMEM",
    "memfd_create": "EMFILE", "mkdir": "ENOSPC", "mkdirat": "ENOSPC", "mmap": "ENOMEM", "mprotect": "ENOMEM", "newfstatat": "EIO",
    "openat": "EMFILE", "openat2": "EMFILE", "pidfd_open": "EMFILE", "pipe2": "EMFILE", "poll": "ENOMEM", "ppoll": "ENOMEM",
    "prctl": "EINVAL", "pread64": "EIO", "prlimit64": "EPERM", "process_vm_readv": "EFAULT", "ptrace": "EPERM", "read": "EIO",
    "readlinkat": "EIO", "recvmsg": "ENOMEM", "rename": "EIO", "renameat": "EIO", "renameat2": "EIO", "rt_sigaction": "EINVAL",
    "rt_sigprocmask": "EINVAL", "sched_getaffinity": "ESRCH", "seccomp": "ENOSYS", "sendmsg": "ENOBUFS", "setpgid": "EPERM",
    "setsockopt": "ENOBUFS", "signalfd4": "EMFILE", "socket": "EMFILE", "socketpair": "EMFILE", "statx": "EIO",
    "timerfd_create": "EMFILE", "timerfd_settime": "EINVAL", "uname": "EFAULT", "unlink": "EIO", "unlinkat": "EIO", "vfork": "EAGAIN",
    "wait4": "EINTR", "waitid": "EINTR", "write": "EIO",
}
INTERRUPTED = ("openat", "poll", "ppoll", "read", "write")  # fail with EINTR too
NOT_INJECTED = {
    "arch_prctl", "execve", "exit", "exit_group", "rseq", "set_robust_list", "set_tid_address",  # not ours: the C library's start and end
    "brk",  # answers with the old break, not with an error: glibc takes one for a success
    "futex", "restart_syscall", "rt_sigreturn", "sched_yield",  # fail in no kernel
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "umask", "munmap",
    "clock_nanosleep", "sigaltstack", "tgkill", "getpgrp", "getpgid", "getsid", "alarm", "setitimer", "getresuid", "getresgid",
}
MOST = sys.maxsize if os.environ.get("CUDART_DOCTOR_ALL_FAULTS") else 4
SLOWEST_S = 12  # `--timeout 5`, the time to give up, and a machine that does other things too
EACH = object()  # stands for a path of its own in each run of a command
SETTINGS = ("--timeout", "5", "--probe", "off")


def spread(count):
    """Numbers from 1 to `count`, the first and the last among them."""
    if MOST >= count:
        return range(1, count + 1)
    return sorted({1 + round(step * (count - 1) / (MOST - 1)) for step in range(MOST)})


class Faults(Case):
    """A server that is faulty in a way that every whole look finds: two copies of one runtime."""

    def setUp(self):
        super().setUp()
        need_program(self, "strace")
        loads = [f"load({str(self.runtime('12.8', folder=name))!r})" for name in ("a", "b")]
        self.server = self.victim(*loads)
        # What the program makes in a folder for temporary files would stay here.
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()
        self.numbers = itertools.count()

    def trace(self, command, *options):
        command = [self.folder / f"kept-{next(self.numbers)}" if each is EACH else each for each in command]
        begin = time.monotonic()
        try:
            done = subprocess.run(["strace", "-f", "-qq", *options, *map(str, command)], capture_output=True, timeout=60,
                                  stdin=subprocess.DEVNULL, env=clean_environment(TMPDIR=str(self.scratch)))
        except subprocess.TimeoutExpired:
            self.fail(f"hangs: {options} {command}")
        return done, time.monotonic() - begin

    def calls(self, command):
        """How often one process or thread makes each call at most, and how often it is made before main()."""
        log = self.folder / "trace"
        done, _ = self.trace(command, "-o", log)
        if b"PTRACE_TRACEME" in done.stderr or b"ptrace(" in done.stderr:
            self.skipTest("strace is not allowed to trace here")
        counts = collections.defaultdict(collections.Counter)
        before = None
        for pid, call in re.findall(r"^(\d+) +(\w+)\(", log.read_text(errors="replace"), re.MULTILINE):
            counts[call][pid] += 1
            # The dynamic loader lets go of its cache, the last thing that it does.
            if call == "munmap" and before is None:
                before = {each: sum(number.values()) for each, number in counts.items()}
        unknown = set(counts) - set(ERRORS) - NOT_INJECTED
        self.assertEqual(unknown, set(), "calls that nobody decided about")
        return {call: max(each.values()) for call, each in counts.items() if call in ERRORS}, before

    def plan(self, command):
        """(fault, whether the dynamic loader may meet it, which then has its own ways to end)"""
        counts, before = self.calls(command)
        for call, count in sorted(counts.items()):
            for error in (ERRORS[call], *(("EINTR",) if call in INTERRUPTED else ())):
                for number in spread(count):
                    yield f"{call}:error={error}:when={number}", number <= before.get(call, 0)

    def walk(self, command, judge, least, at_once=2):
        """Fails each call once; `judge` gives what is wrong with how the command ended, or None."""
        support.need_no_sanitizer(self)  # Its own calls would fail too.
        plan = list(self.plan(command))
        self.assertGreater(len(plan), least, "too few calls seen")

        def one(planned):
            fault, at_start = planned
            done, seconds = self.trace(command, "-o", "/dev/null", "-e", "inject=" + fault)
            message = done.stderr.decode(errors="replace")
            if seconds > SLOWEST_S:
                return f"{fault}: took {seconds:.1f} s"
            if at_start and done.returncode in (127, -signal.SIGSEGV) and not done.stdout:
                return None
            wrong = judge(done)
            return wrong and f"{fault}: exit {done.returncode}, {wrong}: {message.strip()[-200:]}"

        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            wrong = [each for each in pool.map(one, plan) if each]
        self.assertFalse(wrong, "\n".join([f"{len(wrong)} of {len(plan)} faults", *wrong]))
        self.assertEqual(sorted(self.scratch.iterdir()), [], "left behind")
        self.assert_no_orphan()
        self.assertIsNone(self.server.process.poll(), "the server was ended")

    def assert_no_orphan(self):
        self.assertEqual(alive(), [], "left behind")


def document_of(done):
    """What is wrong with stdout as one document of the schema, and the document."""
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return "stdout is no document", None
    error = next(VALIDATOR.iter_errors(document), None)
    return (error and f"not by the schema: {error.message}"), document


def judge_report(done):
    """A report that finds the fault, one that does not claim to have seen all, or a failure that says why."""
    if done.returncode == 2 and not done.stdout and b"cannot write" in done.stderr:
        return None
    wrong, document = document_of(done)
    if wrong:
        return wrong
    if document["verdict"]["exit_code"] != done.returncode:
        return "another exit code than the document's"
    return None if done.returncode in (1, 3) else "neither found nor undecided"


def judge_given(done):
    """The same of what the command line names: that cannot be read is a usage error."""
    if done.returncode == 2 and not document_of(done)[0] and document_of(done)[1]["error"]["message"]:
        return None
    return judge_report(done)


class Inspection(Faults):
    def test_of_a_process(self):
        self.walk([support.DOCTOR, "--pid", self.server.pid, "--json", *SETTINGS], judge_report, 100)

    def test_of_a_snapshot(self):
        snapshot = self.folder / "snapshot"
        support.doctor("snapshot", "--pid", self.server.pid, "--dir", snapshot)
        self.walk([support.DOCTOR, "--from", snapshot, "--json", *SETTINGS], judge_given, 50)

    def test_of_an_environment(self):
        library = self.folder / "a" / "libcudart.so.12"
        second = self.folder / "b" / "libcudart.so.12"
        self.walk([support.DOCTOR, "--load", library, "--load", second, "--json", *SETTINGS],
                  judge_given, 100)


class Memory(Faults):
    def test_however_little_there_is(self):
        """RLIMIT_DATA from what the program needs until main() (less is the C++ library's to refuse) to plenty."""
        need_program(self, "prlimit")
        support.need_no_sanitizer(self)
        ends = collections.Counter()
        for kib in [*range(325, 1500, 50), 2000, 4000, 16000]:
            done = subprocess.run(["prlimit", f"--data={kib * 1024}", support.DOCTOR, "--pid", str(self.server.pid),
                                   "--json", *SETTINGS], capture_output=True, timeout=60, check=False,
                                  stdin=subprocess.DEVNULL, env=clean_environment())
            ends[done.returncode] += 1
            with self.subTest(kib=kib):
                if done.returncode == 2:
                    self.assertEqual((done.stdout, done.stderr), (b"", b"cudart-doctor: not enough memory\n"))
                else:
                    self.assertIsNone(judge_report(done))
        self.assertEqual(set(ends), {1, 2, 3}, "each way to end was met")
        self.assert_no_orphan()


class Output(Faults):
    def test_a_file_holds_the_old_report_or_the_new_one(self):
        folder = self.folder / "out"
        folder.mkdir()
        place = folder / "report.json"
        snapshot = self.folder / "snapshot"
        support.doctor("snapshot", "--pid", self.server.pid, "--dir", snapshot)
        command = [support.DOCTOR, "--from", snapshot, "--json", "-o", place, *SETTINGS]
        support.doctor(*command[1:])
        whole = place.read_bytes()
        place.write_bytes(b"old")

        def judge(done):
            text = place.read_bytes()
            place.write_bytes(b"old")
            others = [each for each in folder.iterdir() if each != place]
            for each in others:
                each.unlink()
            if others:
                return f"left behind: {others}"
            if done.returncode == 1:
                return None if text == whole else "the report is not there"
            if text != b"old":
                VALIDATOR.validate(json.loads(text))  # of the failure
            return None if done.returncode in (2, 3) else "no fitting exit code"

        # One after the other: they write the same file.
        self.walk(command, judge, 50, at_once=1)


class Signals(Faults):
    def ended_by(self, number, delay_s, *arguments):
        child = subprocess.Popen([support.DOCTOR, *map(str, arguments), "--json", *SETTINGS], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_environment(TMPDIR=str(self.scratch)))
        time.sleep(delay_s)
        child.send_signal(number)
        try:
            out, _ = child.communicate(timeout=30)
        finally:
            child.kill()
        self.wait_until(lambda: not alive(), 5)
        self.assertEqual(sorted(self.scratch.iterdir()), [], "left behind")
        return child.returncode, out

    def test_at_any_moment(self):
        """It dies of the signal or was ready before; its children die with it, and a file is whole."""
        folder = self.folder / "out"
        folder.mkdir()
        place = folder / "report.json"
        commands = {"a process": ("--pid", self.server.pid), "an environment": ("--load", self.folder / "a/libcudart.so.12")}
        ends = collections.Counter()
        for name, arguments in commands.items():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
                for step in range(10):
                    with self.subTest(name, signal=number.name, step=step):
                        place.write_text("old")
                        code, out = self.ended_by(number, step * 0.008, *arguments, "-o", place)
                        ends[code] += 1
                        self.assertIn(code, (-number, 0, 1, 3))
                        self.assertEqual(out, b"")
                        text = place.read_bytes()
                        if text != b"old":
                            VALIDATOR.validate(json.loads(text))
                        else:
                            self.assertLess(code, 0)
                        self.assertEqual(list(folder.iterdir()), [place])
        self.assertGreater(sum(count for code, count in ends.items() if code < 0), 10, f"hardly ever interrupted: {ends}")


    def test_while_the_file_is_put_in_its_place(self):
        """Whoever writes it is slow, and gets as far as the last call when the program is ended."""
        need_program(self, "strace")
        support.need_no_sanitizer(self)
        folder = self.folder / "out"
        folder.mkdir()
        place = folder / "report.json"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number.name):
                place.write_text("old")
                log = self.folder / "calls"
                log.unlink(missing_ok=True)
                traced = subprocess.Popen(["strace", "-D", "-f", "-qq", "-o", log, "-e", "trace=renameat,renameat2,rename", "-e",
                                           "inject=renameat,renameat2,rename:delay_enter=500000", support.DOCTOR, "--from",
                                           support.SOURCE / "tests/golden/stub_first", "--json", "-o", place, *SETTINGS],
                                          stdin=subprocess.DEVNULL, env=clean_environment())
                self.addCleanup(traced.kill)
                # The file that is to be put there exists by then.
                self.wait_until(lambda: len(list(folder.iterdir())) == 2)
                time.sleep(0.1)
                traced.send_signal(number)
                self.assertEqual(traced.wait(30), -number)
                self.wait_until(lambda: not alive(), 5)
                self.assertEqual(list(folder.iterdir()), [place])
                VALIDATOR.validate(json.loads(place.read_bytes()))


class Snapshots(Faults):
    def test_a_folder_is_whole_or_refused(self):
        def judge(done):
            folder = pathlib.Path(done.args[-1])
            if done.returncode not in (0, 1, 2, 3):
                return "no fitting exit code"
            if not folder.exists():
                return None if done.returncode in (2, 3) else "no folder"
            replayed = support.doctor("--from", folder, *SETTINGS)
            if done.returncode == 0 and replayed.code not in (1, 3) or replayed.code == 0:
                return f"--from gives {replayed.code}"
            return None

        self.walk([support.DOCTOR, "snapshot", "--pid", self.server.pid, "--timeout", "5", "--dir", EACH], judge, 100)


if __name__ == "__main__":
    support.main()
