"""A PID that becomes another process's while it is looked at: the report is on the old one or on the new one, or it
says that the process is gone; it is never on both.

In a PID namespace of its own, where the kernel is told which number is the next one.
"""
import collections
import json
import os
import subprocess
import sys

import support
from support import PYTHON, VALIDATOR, Case, clean_environment, need_program, need_root

ROUNDS = int(os.environ.get("CUDART_DOCTOR_REUSES", "100"))
NUMBER = 3000
# Inside: one process after the other gets the same number, and each is another program: its libraries, its title and
# its environment are of one kind.
INSIDE = r"""
import json, os, signal, subprocess, sys, time

# By a file: a copy of this process that has not yet become the server must not speak of either in its command line.
doctor, rounds, number, first, second, command = json.load(open(sys.argv[1]))
LOADS = "import ctypes, os, sys, time\nctypes.CDLL(sys.argv[2])\nos.write(3, b'x')\ntime.sleep(600)"

def start(kind, path):
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(number - 1))
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(tell, 3)
        os.execve(sys.executable, [sys.executable, "-I", "-c", LOADS, kind, path], {"PATH": "/usr/bin:/bin", "CUDA_KIND": kind})
    os.close(tell)
    return pid, ready

def end(pid, ready):
    os.close(ready)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

def look(delay):
    old = start("first", first)
    os.read(old[1], 1)
    child = subprocess.Popen([doctor, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    time.sleep(delay)
    end(*old)
    new = start("second", second)
    out, err = child.communicate(timeout=60)
    end(*new)
    return [delay, old[0] == new[0] == number, child.returncode, out.decode(), err.decode()]

old = start("first", first)
os.read(old[1], 1)
for _ in range(2):  # The second time the files are in memory.
    begin = time.monotonic()
    subprocess.run([doctor, *command], capture_output=True)
    whole = time.monotonic() - begin
end(*old)
for step in range(rounds):
    print(json.dumps(look(whole * step / rounds)), flush=True)
"""


class Reuse(Case):
    def setUp(self):
        super().setUp()
        need_root(self)
        need_program(self, "unshare")
        if not os.path.exists("/proc/sys/kernel/ns_last_pid"):
            self.skipTest("needs /proc/sys/kernel/ns_last_pid (CONFIG_CHECKPOINT_RESTORE)")
        # Of two versions: what is read of each tells whose it is.
        self.first, self.second = self.runtime("12.4", folder="first"), self.runtime("13.0", folder="second")

    def rounds(self, *command):
        """How each round ended: (delay, whether the number was reused, exit code, stdout, stderr)."""
        script, plan = self.folder / "inside.py", self.folder / "plan.json"
        script.write_text(INSIDE)
        plan.write_text(json.dumps([support.DOCTOR, ROUNDS, NUMBER, str(self.first), str(self.second), command]))
        inside = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", PYTHON, "-I", script, plan],
                                capture_output=True, text=True, timeout=200, env=clean_environment(), stdin=subprocess.DEVNULL,
                                check=False)
        self.assertEqual(inside.returncode, 0, inside.stderr[-2000:])
        rounds = [json.loads(line) for line in inside.stdout.splitlines()]
        self.assertEqual(len(rounds), ROUNDS)
        # Now and then a process of the program itself gets the number first.
        self.assertGreater(sum(reused for _, reused, *_ in rounds), ROUNDS * 3 // 4, "numbers were not given again")
        return rounds

    def whose(self, text):
        """Whose libraries, command line and environment a document speaks of."""
        return {name for name, signs in {"first": (str(self.first), '"first"'), "second": (str(self.second), '"second"')}.items()
                if any(sign in text for sign in signs)}

    def test_a_look_is_at_one_of_the_two(self):
        ends = collections.Counter()
        for delay, _, code, out, err in self.rounds("--pid", str(NUMBER), "--json", "--probe", "off"):
            with self.subTest(delay=delay):
                self.assertIn(code, (0, 1, 3), err)
                document = json.loads(out)
                VALIDATOR.validate(document)
                if "error" in document:
                    self.assertEqual(code, 3)
                    self.assertRegex(document["error"]["message"], "ended while|no process with|another process|No such process|"
                                                                   "zombie|maps nothing")
                    ends["refused"] += 1
                    continue
                whose = self.whose(out)
                self.assertLessEqual(len(whose), 1, f"a mixture: {out}")
                # The new one may not have loaded its library yet; the old one had.
                runtimes = {each["path"] for each in document["runtimes"] if each["mapped"]}
                if "first" in whose and code != 3:
                    self.assertEqual(runtimes, {str(self.first)}, "called well, and its library was not seen")
                ends["".join(whose) or "nothing"] += 1
        self.assertGreater(ends["first"], 0, ends)
        self.assertGreater(ends["refused"], 0, ends)
        print(f"reuse, one process: {dict(ends)}", file=sys.stderr)

    def test_a_look_at_all_is_at_one_of_the_two(self):
        ends = collections.Counter()
        for delay, _, code, out, err in self.rounds("--all", "--json"):
            with self.subTest(delay=delay):
                self.assertIn(code, (0, 1, 3), err)
                whose = self.whose(out)
                self.assertLessEqual(len(whose), 1, f"a mixture: {out}")
                entries = [each for each in json.loads(out)["processes"] if each["pid"] == NUMBER]
                ends[entries[0]["state"] if entries else "not listed"] += 1
        self.assertGreater(ends["judged"], 0, ends)
        print(f"reuse, all processes: {dict(ends)}", file=sys.stderr)


if __name__ == "__main__":
    support.main()
