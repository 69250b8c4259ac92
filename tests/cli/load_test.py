"""Many at once, and again and again: the same answer each time, and nothing left of any.

CUDART_DOCTOR_RUNS=10000 asks for more than the 200 runs that are usual.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess

import support
from support import VALIDATOR, Case, clean_environment

AT_ONCE = 100
RUNS = int(os.environ.get("CUDART_DOCTOR_RUNS", "200"))
TEMPORARY = [pathlib.Path(name) for name in ("/tmp", "/dev/shm", "/var/tmp")]


def look(pid):
    done = subprocess.run([support.DOCTOR, "--pid", str(pid), "--json", "--probe", "off", "--timeout", "60"], capture_output=True,
                          stdin=subprocess.DEVNULL, env=clean_environment(), timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def answer(out):
    """What does not depend on the moment."""
    document = json.loads(out)
    return document["verdict"]["exit_code"], tuple(each["id"] for each in document["findings"]), len(document["runtimes"])


def things():
    """What a run could leave: processes of the program, segments, files in folders for temporary ones."""
    program = os.stat(support.DOCTOR)
    left = collections.Counter()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            exe = os.stat(folder / "exe")
            left["processes"] += (exe.st_dev, exe.st_ino) == (program.st_dev, program.st_ino)
        except OSError:
            continue
    for folder in TEMPORARY:
        for each in folder.glob("doctor*"):
            left[str(each)] += 1
    for name in ("shm", "msg", "sem"):
        path = pathlib.Path("/proc/sysvipc") / name
        left[name] = len(path.read_text().splitlines()) if path.exists() else 0
    return left


class Load(Case):
    def setUp(self):
        super().setUp()
        self.before = things()
        self.copies = [self.runtime("12.8", folder=name) for name in ("a", "b")]

    def server(self):
        return self.victim(*(f"load({str(copy)!r})" for copy in self.copies))

    def check(self, results):
        for code, out, message in results:
            self.assertEqual((code, message), (1, b""))
        VALIDATOR.validate(json.loads(results[0][1]))
        self.assertEqual(len({answer(out) for _, out, _ in results}), 1)
        self.assertIn("RT05", answer(results[0][1])[1])
        self.assertEqual(things(), self.before)

    def test_a_hundred_at_once_on_one_process(self):
        pid = self.server().pid
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            self.check(list(pool.map(look, [pid] * AT_ONCE)))

    def test_a_hundred_at_once_on_as_many(self):
        pids = [self.server().pid for _ in range(AT_ONCE)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            self.check(list(pool.map(look, pids)))

    def test_again_and_again(self):
        pid = self.server().pid
        before = len(os.listdir(f"/proc/{pid}/fd"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.check(list(pool.map(look, [pid] * RUNS)))
        self.assertEqual(len(os.listdir(f"/proc/{pid}/fd")), before)


if __name__ == "__main__":
    support.main()
