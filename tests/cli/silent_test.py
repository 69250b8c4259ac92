"""A file system that stops to answer, under everything that the program looks at or writes to.

Of two kinds: one whose server reads no request (a waiting process can be killed), and one whose server reads
each and answers none (it cannot, as with a dead network mount). Either way the program ends in time, says which
file did not answer, and never calls healthy what it has not seen.
"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import time

import support
from support import Case, alive, clean_environment, doctor, missing, need_root

SLACK_S = 5  # 2 s for each of what cannot be killed, and a machine that does other things too
SERVER = pathlib.Path(__file__).with_name("silent_server.py")
CLONE_NEWNS, MS_REC_PRIVATE, MNT_FORCE, MNT_DETACH = 0x20000, 0x44000, 1, 2
KINDS = ("deaf", "mute")


def setUpModule():
    """Mounts are seen by this program and its children only, and end with them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0 and libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None)


class Silent(Case):
    TIMEOUT_S = 2

    def setUp(self):
        super().setUp()
        need_root(self)
        if not os.path.exists("/dev/fuse"):
            self.skipTest("needs /dev/fuse")
        self.place = self.folder / "silent"
        self.place.mkdir()
        self.file = self.place / "libcudart.so.12"
        self.server = subprocess.Popen([sys.executable, SERVER, self.place, self.runtime("12.8")], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_server)
        if self.server.stdout.readline() != "ready\n":
            missing(self, "a FUSE mount is not allowed here: " + self.server.stderr.read())

    def end_server(self):
        # By force: what waits for an answer gets an error, else it could not even be killed.
        libc = ctypes.CDLL(None)
        libc.umount2(os.fsencode(self.place), MNT_FORCE)
        libc.umount2(os.fsencode(self.place), MNT_DETACH)
        self.server.kill()
        self.server.communicate()

    def fall_silent(self, kind):
        print(kind, file=self.server.stdin, flush=True)
        self.assertEqual(self.server.stdout.readline(), "ok\n")

    def look(self, *arguments, slack=SLACK_S):
        """One run of the program, which ends in time."""
        began = time.monotonic()
        ended = doctor(*arguments, "--timeout", self.TIMEOUT_S, timeout=60)
        self.assertLess(time.monotonic() - began, self.TIMEOUT_S + slack, arguments)
        return ended

    def assert_nothing_left(self, kind):
        if kind == "mute":
            # Nobody can end what waits for such a server; with it, it ends.
            self.end_server()
        self.wait_until(lambda: not alive(), 5)


def each_kind(test):
    """The test once for each kind, in a world of its own."""
    def run(self):
        for kind in KINDS:
            with self.subTest(kind):
                try:
                    test(self, kind)
                finally:
                    self.doCleanups()
                    self.setUp()
    run.__name__ = test.__name__
    return run


class AMappedLibrary(Silent):
    # A third for the file, 2 s for what cannot be killed, and enough to look again without it.
    TIMEOUT_S = 8

    def silent_process(self, kind, *more):
        victim = self.victim(f"load({str(self.file)!r})", *more)
        self.fall_silent(kind)
        return victim

    def assert_undecided(self, ended):
        self.assertEqual(ended.code, 3, ended.text + ended.message)
        document = ended.document
        self.assertIn(str(self.file), json.dumps(document))
        self.assertNotIn("error", document)
        return document

    @each_kind
    def test_of_one_process(self, kind):
        victim = self.silent_process(kind)
        self.assert_undecided(self.look("--pid", victim.pid, "--json"))
        text = self.look("--pid", victim.pid)
        self.assertEqual(text.code, 3)
        self.assertTrue(text.text.startswith("UNDECIDED"), text.text)
        self.assertIn(str(self.file), "".join(text.text.split()))
        self.assert_nothing_left(kind)

    @each_kind
    def test_of_the_process_behind_a_port(self, kind):
        victim = self.silent_process(kind, "import socket", "kept.append(socket.create_server(('127.0.0.1', 0)))",
                                     f"open({str(self.folder / 'port')!r}, 'w').write(str(kept[-1].getsockname()[1]))")
        self.assertIsNone(victim.process.poll())
        self.assert_undecided(self.look("--port", (self.folder / "port").read_text(), "--json"))
        self.assert_nothing_left(kind)

    @each_kind
    def test_of_a_tree(self, kind):
        victim = self.silent_process(kind)
        ended = self.look("tree", "--pid", victim.pid, "--json")
        self.assertEqual(ended.code, 3, ended.text)
        self.assertIn(str(self.file), ended.text)
        self.assert_nothing_left(kind)

    @each_kind
    def test_of_the_node(self, kind):
        self.silent_process(kind)
        ended = self.look("--all", "--json")
        self.assertIn(ended.code, (1, 3), ended.text)  # What else runs on the machine may be worse.
        self.assertIn(str(self.file), ended.text)
        self.assert_nothing_left(kind)

    @each_kind
    def test_of_a_snapshot(self, kind):
        victim = self.silent_process(kind)
        kept = self.folder / "kept"
        self.assertEqual(self.look("snapshot", "--pid", victim.pid, "--dir", kept).code, 0)
        replayed = doctor("--from", kept, "--json")
        self.assert_undecided(replayed)
        self.assert_nothing_left(kind)


class ListsOfTheLoader(Silent):
    """What the loader keeps in the memory of a process: it cannot be left out like a file."""
    TIMEOUT_S = 12
    SILENT = 8
    # The name of a library in the loader's own list lies in a file of its own, and nothing has read it yet.
    BENT = """
import ctypes, mmap
file = open({file!r}, "rb")
kept.append(mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE))
kept.append(ctypes.CDLL({library!r}))
ctypes.c_void_p.from_address(kept[-1]._handle + 8).value = ctypes.addressof(ctypes.c_char.from_buffer(kept[-2]))
"""

    def bent(self, *commands):
        bent = self.BENT.format(file=str(self.file), library=str(self.runtime("12.8")))
        victim = self.victim(*commands, f"exec({bent!r})")
        # Before the process: it cannot end while the file that it holds open waits for an answer.
        self.addCleanup(self.end_server)
        return victim

    def two_copies(self):
        """What gives RT05."""
        return [f"load({str(self.runtime(each, folder=each))!r})" for each in ("12.4", "12.8")]

    @each_kind
    def test_a_list_of_allowances_from_a_pipe_counts_at_each_look(self, kind):
        """A pipe gives its bytes once, and here not at once."""
        victim = self.bent(*self.two_copies())
        self.fall_silent(kind)
        read, write = os.pipe()
        late = subprocess.Popen(["sh", "-c", 'sleep 1; echo RT05'], stdout=write)
        self.addCleanup(late.wait)
        os.close(write)
        self.addCleanup(os.close, read)
        began = time.monotonic()
        ended = doctor("--pid", victim.pid, "--json", "--timeout", 2 * self.TIMEOUT_S, "--allow-file", f"/dev/fd/{read}", "--log-level", "info",
                       pass_fds=[read], timeout=60)
        self.assertLess(time.monotonic() - began, 2 * self.TIMEOUT_S + SLACK_S)
        self.assertIn(f"looking again without what did not answer: /proc/{victim.pid}/mem", ended.message)
        self.assertEqual([each["allowed"] is not None for each in ended.document["findings"] if each["id"] == "RT05"], [True], ended.text)
        self.assert_nothing_left(kind)

    @each_kind
    def test_the_sick_one_beside_many_is_judged(self, kind):
        silent = [self.bent() for _ in range(self.SILENT)]
        sick = self.victim(*self.two_copies())
        self.fall_silent(kind)
        ended = self.look("--all", "--json")
        self.assertEqual(ended.code, 1, ended.text)
        processes = {each["pid"]: each for each in json.loads(ended.out)["processes"]}
        self.assertIn("RT05", [each["id"] for each in processes[sick.pid]["verdict"]["findings"]])
        for victim in silent:
            # What the files tell is known, what the loader has is not.
            self.assertEqual(processes[victim.pid]["verdict"]["state"], "undecided", processes[victim.pid])
        self.assert_nothing_left(kind)


class APlaceToWriteTo(Silent):
    def setUp(self):
        super().setUp()
        self.process = self.victim()

    @each_kind
    def test_a_report(self, kind):
        """A report that cannot be written is told to be one, in time."""
        self.fall_silent(kind)
        for command in (["--pid", self.process.pid], ["tree", "--pid", self.process.pid]):
            with self.subTest(command):
                ended = self.look(*command, "-o", self.place / "report")
                self.assertEqual(ended.code, 2, ended.message)
                self.assertIn(f"cannot write {self.place}/report: no answer", ended.message)
        self.assert_nothing_left(kind)

    @each_kind
    def test_a_snapshot(self, kind):
        self.fall_silent(kind)
        ended = self.look("snapshot", "--pid", self.process.pid, "--dir", self.place / "kept")
        self.assertEqual(ended.code, 3, ended.message)
        self.assertIn(f"{self.place}/kept", ended.message)
        self.assert_nothing_left(kind)

    @each_kind
    def test_a_recording_is_refused_before_the_command_is_started(self, kind):
        self.fall_silent(kind)
        for options, code in ((["-o", self.place / "report"], 2), (["--record", self.place / "kept"], 3)):
            with self.subTest(options):
                began = time.monotonic()
                ended = doctor("run", "--timeout", self.TIMEOUT_S, *options, "--", "echo", "started", timeout=60)
                self.assertLess(time.monotonic() - began, self.TIMEOUT_S + SLACK_S)
                self.assertEqual((ended.code, ended.out), (code, b""), ended.message)
                self.assertIn(str(options[1]), ended.message)
        self.assert_nothing_left(kind)

    @each_kind
    def test_a_recording_leaves_the_command_its_exit_code(self, kind):
        """A place that falls silent while the command runs."""
        began = time.monotonic()
        process = subprocess.Popen([support.DOCTOR, "run", "--timeout", str(self.TIMEOUT_S), "-o", self.place / "report", "--", "sh", "-c",
                                    "echo started; read line; exit 7"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=clean_environment())
        self.assertEqual(process.stdout.readline(), b"started\n")
        self.fall_silent(kind)
        _, message = process.communicate(b"\n", timeout=60)
        self.assertLess(time.monotonic() - began, 2 * self.TIMEOUT_S + SLACK_S)
        self.assertEqual(process.returncode, 7, message)
        self.assertIn(b"cudart-doctor: ", message)
        self.assert_nothing_left(kind)


class WhatIsNamed(Silent):
    """Files and folders of the command line."""

    @each_kind
    def test_it_ends_in_time_and_is_no_clean_bill(self, kind):
        self.fall_silent(kind)
        good = self.folder / "good.json"
        good.write_bytes(doctor("--from", support.SOURCE / "tests/golden/healthy", "--json").out)
        for command in (["--from", self.place / "kept"], ["diff", self.file, good],
                        ["--pid", os.getpid(), "--allow-file", self.file], ["--pid", os.getpid(), "--profile", self.file],
                        ["tree", "--pid", os.getpid(), "--allow-file", self.file], ["policies", "--profile", self.file],
                        ["--python", self.file, "--probe", "off"]):
            with self.subTest(command):
                ended = self.look(*command)
                self.assertIn(ended.code, (2, 3), ended.text + ended.message)
                self.assertIn("silent", ended.text + ended.message)
        self.assert_nothing_left(kind)

    @each_kind
    def test_a_library_that_is_loaded(self, kind):
        """Its constructors may write to stderr, so that what cannot be ended keeps that open: here it is a file."""
        self.fall_silent(kind)
        place, began = self.folder / "message", time.monotonic()
        with open(place, "wb") as message:
            code = subprocess.run([support.DOCTOR, "--load", self.file, "--probe", "off", "--timeout", str(self.TIMEOUT_S)], stderr=message,
                                  stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode
        self.assertLess(time.monotonic() - began, self.TIMEOUT_S + SLACK_S)
        self.assertEqual(code, 3)
        self.assertIn(str(self.file), place.read_text())
        self.assert_nothing_left(kind)


if __name__ == "__main__":
    support.main()
