"""What a tired or hostile machine gives: few descriptors, a full disk, a clock that jumps, an end at any moment."""
import collections
import json
import os
import re
import signal
import subprocess
import time

import support
from support import VALIDATOR, Case, alive, clean_environment, doctor, need_program, need_root

SETTINGS = ("--timeout", "10", "--probe", "off")
OF_THE_LOADER = (127, -signal.SIGSEGV)


class Scarce(Case):
    """A server that is faulty in a way that every whole look finds: two copies of one runtime."""

    def setUp(self):
        super().setUp()
        self.copies = [self.runtime("12.8", folder=name) for name in ("a", "b")]
        self.server = self.victim(*(f"load({str(copy)!r})" for copy in self.copies))


class Descriptors(Scarce):
    COUNTS = range(3, 41)

    def walk(self, *command, judge):
        """What ends the command came to, with each number of descriptors."""
        need_program(self, "prlimit")
        support.need_no_sanitizer(self)  # It looks into memory through pipes of its own.
        ends = collections.Counter()
        for count in self.COUNTS:
            ended = doctor(*command, program=["prlimit", f"--nofile={count}", support.DOCTOR], timeout=60)
            ends[ended.code] += 1
            with self.subTest(descriptors=count):
                if ended.code in OF_THE_LOADER:
                    self.assertEqual(ended.out, b"")
                    continue
                self.assertNotIn("ended while", ended.text + ended.message)
                judge(ended)
        self.assertEqual(alive(), [])
        self.assertGreater(ends[3] + ends[2], 0, f"never too few: {ends}")
        return ends

    def found_or_undecided(self, ended):
        self.assertIn(ended.code, (1, 2, 3), ended.message)
        if ended.out:
            self.assertEqual(json.loads(ended.out)["verdict"]["exit_code"], ended.code)

    def test_one_process(self):
        ends = self.walk("--pid", self.server.pid, "--json", *SETTINGS, judge=self.found_or_undecided)
        self.assertGreater(ends[1], 0)

    def test_a_tree(self):
        ends = self.walk("tree", "--pid", self.server.pid, "--json", "--timeout", "10", judge=self.found_or_undecided)
        self.assertGreater(ends[1], 0)

    def test_an_environment(self):
        ends = self.walk("--load", self.copies[0], "--load", self.copies[1], "--json", *SETTINGS, judge=self.found_or_undecided)
        self.assertGreater(ends[1], 0)

    def test_a_report_in_a_file(self):
        folder = self.folder / "out"
        folder.mkdir()
        place = folder / "report.json"
        place.write_text("old")

        def judge(ended):
            self.found_or_undecided(ended)
            text = place.read_bytes()
            self.assertEqual(list(folder.iterdir()), [place], "left behind")
            if text != b"old":
                VALIDATOR.validate(json.loads(text))
            else:
                self.assertEqual(ended.code, 2)
                self.assertTrue(ended.message)
            place.write_text("old")

        self.walk("--pid", self.server.pid, "--json", "-o", place, *SETTINGS, judge=judge)

    def test_a_snapshot(self):
        folder = self.folder / "kept"

        def judge(ended):
            self.assertIn(ended.code, (0, 2, 3), ended.message)
            self.assertEqual(folder.exists(), ended.code == 0, ended.message)
            if ended.code == 0:
                self.assertIn(doctor("--from", folder, *SETTINGS).code, (1, 3), "a snapshot that is well")
                subprocess.run(["rm", "-r", folder], check=True)
            else:
                self.assertTrue(ended.message)

        self.walk("snapshot", "--pid", self.server.pid, "--dir", folder, *SETTINGS, judge=judge)


class FullDisk(Scarce):
    SIZES_KIB = (0, 4, 8, 16, 32, 64)

    def on_a_small_disk(self, kib, script, *arguments):
        """Runs a script with $1, a disk of that size; all but `kib` of it are taken."""
        need_root(self)
        need_program(self, "unshare")
        place = self.folder / "disk"
        place.mkdir(exist_ok=True)
        return subprocess.run(
            ["unshare", "--mount", "sh", "-ec", 'mount -t tmpfs -o size=128k none "$1"; mkdir "$1/there"; '
             'head -c $((${0} * 1024)) /dev/zero >"$1/kept"; dd if=/dev/zero of="$1/rest" bs=4k 2>/dev/null || :; '
             f'rm "$1/kept"; code=0; {script}', str(kib), place, *map(str, arguments)],
            capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL, env=clean_environment())

    def assert_clean(self, done, codes):
        """Said, and nothing of it left: the same command can be given again."""
        *_, listing, code = done.stdout.splitlines()
        self.assertIn(int(code), codes, done.stderr)
        self.assertEqual(listing, "rest there", done.stderr)
        self.assertIn("No space left on device", done.stderr)

    def test_a_snapshot_is_whole_or_is_not_there(self):
        for kib in self.SIZES_KIB[:3]:
            for folder in ("new", "there"):
                with self.subTest(kib=kib, folder=folder):
                    done = self.on_a_small_disk(
                        kib, '"$2" snapshot --pid "$3" --dir "$1/$4" --probe off || code=$?; '
                        'echo $(ls "$1") $(ls -A "$1/there"); echo $code', support.DOCTOR, self.server.pid, folder)
                    self.assert_clean(done, (2, 3))

    def test_a_recording_is_whole_or_is_not_there_and_the_command_keeps_its_code(self):
        loads = "import ctypes, sys\nfor path in sys.argv[1:]: ctypes.CDLL(path)\nsys.exit(7)"
        for kib in self.SIZES_KIB[1:3]:
            for folder in ("new", "there"):
                with self.subTest(kib=kib, folder=folder):
                    done = self.on_a_small_disk(
                        kib, 'doctor=$2 folder=$3; disk=$1; shift 3; "$doctor" run --record "$disk/$folder" -- "$@" || code=$?; '
                        'rmdir "$disk/new" 2>/dev/null || :; echo $(ls "$disk") $(ls -A "$disk/there"); echo $code',
                        support.DOCTOR, folder, support.PYTHON, "-I", "-c", loads, *self.copies)
                    self.assert_clean(done, (7,))


JUMPS = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
// Years forwards and backwards by turns; other clocks go on as they do.
static long jump(void) {
  static long turn;
  return (turn++ % 2 ? 1 : -1) * 315360000L;
}
int clock_gettime(clockid_t clock, struct timespec *out) {
  int done = (int)syscall(SYS_clock_gettime, clock, out);
  if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += jump();
  return done;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *out, void *zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
"""


class Clock(Scarce):
    """The time of day, set years forwards and backwards with each question for it, as the C library answers."""

    def setUp(self):
        super().setUp()
        support.need_no_sanitizer(self)
        self.env = clean_environment(LD_PRELOAD=str(self.compile("libjumps.so", JUMPS)))

    def test_the_answer_is_the_same(self):
        for command in (["--pid", self.server.pid], ["tree", "--pid", self.server.pid]):
            with self.subTest(command):
                usual, jumping = (doctor(*command, "--json", env=env) for env in (None, self.env))
                years = [re.search(r'"generated_at": "(\d+)-', ended.text)[1] for ended in (usual, jumping)]
                self.assertNotEqual(*years, "the clock did not jump")
                verdicts = [json.loads(ended.out)["verdict"] for ended in (usual, jumping)]
                self.assertEqual(verdicts[0], verdicts[1])
                self.assertEqual((usual.code, jumping.code), (1, 1))

    def test_a_deadline_is_kept(self):
        hangs = self.compile("libhangs.so", "#include <unistd.h>\n__attribute__((constructor)) static void f(void) { for (;;) pause(); }")
        began = time.monotonic()
        ended = doctor("--load", hangs, "--timeout", "1", "--probe", "off", env=self.env)
        taken = time.monotonic() - began
        self.assertEqual(ended.code, 3)
        self.assertIn("no answer within the deadline", ended.message)
        self.assertTrue(0.3 < taken < 6, taken)


class Killed(Scarce):
    """SIGKILL leaves no time for anything: what was started ends by itself, within a second."""

    MOMENTS = 24

    def time_of(self, *command):
        begin = time.monotonic()
        doctor(*command, timeout=60)
        return time.monotonic() - begin

    def walk(self, *command):
        whole = min(self.time_of(*command) for _ in range(3))
        ends = collections.Counter()
        for step in range(self.MOMENTS):
            child = subprocess.Popen([support.DOCTOR, *map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env=clean_environment())
            time.sleep(whole * step / self.MOMENTS)
            child.kill()
            ends[child.wait()] += 1
            with self.subTest(step=step):
                self.wait_until(lambda: not alive(), 1)
        self.assertGreater(ends[-signal.SIGKILL], self.MOMENTS // 4, ends)
        self.assertIsNone(self.server.process.poll(), "the server was ended")

    def test_a_look_at_a_process(self):
        self.walk("--pid", self.server.pid, "--probe", "off", "--deep")

    def test_a_probe(self):
        self.walk("--pid", self.server.pid, "--probe", "on")

    def test_an_environment(self):
        self.walk("--load", self.copies[0], "--load", self.copies[1], "--probe", "on")

    def test_a_look_at_all_processes(self):
        self.walk("--all")

    def test_a_tree(self):
        self.walk("tree", "--pid", os.getpid())

    def test_a_snapshot(self):
        place = self.folder / "kept"
        for step in range(self.MOMENTS):
            child = subprocess.Popen([support.DOCTOR, "snapshot", "--pid", str(self.server.pid), "--dir", place], env=clean_environment(),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(step * 0.008)
            child.kill()
            child.wait()
            with self.subTest(step=step):
                self.wait_until(lambda: not alive(), 1)
                if place.exists():
                    ended = doctor("--from", place, "--probe", "off")
                    # Whole, with what is wrong in it, or refused.
                    self.assertIn(ended.code, (1, 2), ended.message)
                    subprocess.run(["rm", "-r", place], check=True)


if __name__ == "__main__":
    support.main()
