"""Helpers of the tests of `run`: commands started under the recorder, and what they say themselves."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import support  # noqa: E402
from support import PYTHON, clean_environment, doctor  # noqa: E402

PROGRAM = pathlib.Path(__file__).with_name("program.py")
# Frames of the import machinery, which the recorder leaves out.
MACHINERY = "<frozen importlib._bootstrap"


class Watched:
    """How a command under `run` ended, and the report about it."""

    def __init__(self, ended, report):
        self.code, self.out, self.err, self.report = ended.code, ended.out, ended.err, report

    @property
    def run(self):
        return self.report["run"]

    def events(self, name, kind="load"):
        """Of objects with this base name, by time."""
        return [each for each in self.run["events"]
                if each["kind"] == kind and os.path.basename(each["path"]) == name]

    def process(self, pid):
        """The last program that this process was."""
        found = [each for each in self.run["processes"] if each["pid"] == pid]
        if not found:
            raise AssertionError(f"no process {pid}: {self.run['processes']}")
        return found[-1]

    @property
    def judged(self):
        return self.process(self.run["judged_pid"])


class RunCase(support.Case):
    def setUp(self):
        super().setUp()
        self.told_folder = self.folder / "told"
        self.told_folder.mkdir(mode=0o777)
        os.chmod(self.told_folder, 0o777)
        self.program = self.folder / "program.py"
        shutil.copyfile(PROGRAM, self.program)

    def environment(self, **more):
        return clean_environment(TOLD=str(self.told_folder), **more)

    def python(self, *pieces, flags=("-I",), python=PYTHON):
        """The command line of tests/run/program.py."""
        return [python, *flags, self.program, *pieces]

    def told(self, name):
        return json.loads((self.told_folder / f"{name}.json").read_text())

    maxDiff = 3000

    def watch(self, *command, options=(), env=None, **more):
        """The command under `run`, with its report as JSON in a file beside it."""
        file = self.told_folder / "report.json"
        file.unlink(missing_ok=True)
        ended = doctor("run", "--json", "-o", file, *options, "--", *command, timeout=60,
                       env=self.environment() if env is None else env, **more)
        self.assertTrue(file.exists(), ended.message)
        report = json.loads(file.read_text())
        support.VALIDATOR.validate(report)
        self.assertNotIn("error", report)
        return Watched(ended, report)

    def bare(self, *command, env=None, **more):
        """The command by itself."""
        done = subprocess.run([*map(str, command)], capture_output=True, timeout=60,
                              env=self.environment() if env is None else env,
                              **{"stdin": subprocess.DEVNULL, **more})
        return support.Ended(done.returncode, done.stdout, done.stderr)

    def executable(self, name, code, *flags, compiler="gcc"):
        """A program of C code, made on the spot."""
        support.need_program(self, compiler)
        target = self.folder / name
        subprocess.run([compiler, "-x", "c", "-", "-o", target, *flags], input=code.encode(),
                       check=True)
        return target

    def assert_stack(self, event, stack):
        """The recorded frames are Python's own, innermost first."""
        recorded = [[frame["file"], frame["line"], frame["function"]] for frame in event["python"]]
        # The load itself is a call into ctypes.
        while recorded and recorded[0][0].endswith("/ctypes/__init__.py"):
            recorded.pop(0)
        self.assertEqual(recorded, [frame for frame in stack
                                    if not frame[0].startswith(MACHINERY)])


def mapped(told, name):
    """Paths in a process's own maps that have this base name."""
    return {line.split(None, 5)[5] for line in told["maps"].splitlines()
            if line.count("/") and os.path.basename(line) == name}


def loader_words(folder):
    """What glibc itself says of loads (LD_DEBUG=files): [(object, "needed"|"opened", asker)]."""
    said = []
    for file in sorted(pathlib.Path(folder).glob("loader.*")):
        for line in file.read_text(errors="surrogateescape").splitlines():
            match = re.search(r"file=(\S+) \[\d+\];  (needed|dynamically loaded) by (\S+) \[", line)
            if match:
                said.append((match[1], "needed" if match[2] == "needed" else "opened", match[3]))
    return said
