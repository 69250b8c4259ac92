"""Helpers of the tests that run the program itself. Standard library and python3-jsonschema.

Every test program is called as: PROGRAM.py PATH_OF_CUDART_DOCTOR [unittest arguments]
It exits with 77 (skipped) when nothing of it could run.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

CI = os.environ.get("CI") in ("true", "1")
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = sys.executable
NOBODY = 65534

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(1 if CI else 77)

if len(sys.argv) < 2:
    sys.exit(__doc__)
DOCTOR = os.path.abspath(sys.argv.pop(1))
# A script starts what is built for another machine (scripts/cmake/emulated.cmake).
EMULATED = os.path.basename(os.path.dirname(DOCTOR)) == "emulated"
native = unittest.skipIf(EMULATED, "an emulated program cannot start itself, and its emulator needs memory and time of its own")
VALIDATOR = jsonschema.Draft202012Validator(
    json.loads((SOURCE / "docs/report.schema.json").read_text()))


class Ended:
    """How one run of the program ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def text(self):
        return self.out.decode()

    @property
    def message(self):
        return self.err.decode()

    @property
    def document(self):
        """The one JSON document on stdout, validated."""
        document = json.loads(self.out)
        VALIDATOR.validate(document)
        return document


def clean_environment(**changes):
    """An environment in which nothing of CUDA or Python is named."""
    return {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **changes}


def doctor(*arguments, env=None, timeout=30, program=None, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    command = [*(program or [DOCTOR]), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=timeout,
                          env=clean_environment() if env is None else env, **options)
    return Ended(done.returncode, done.stdout, done.stderr)


def alive():
    """Command lines of the program's processes, without zombies."""
    program = os.stat(DOCTOR)
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            exe = os.stat(folder / "exe")
            if (exe.st_dev, exe.st_ino) == (program.st_dev, program.st_ino):
                found.append((folder / "cmdline").read_bytes())
        except OSError:
            continue
    return found


def need_root(test):
    if os.geteuid() != 0:
        test.skipTest("needs root")


def need_program(test, name):
    if shutil.which(name) is None:
        missing(test, name + " is not installed")


def need_no_sanitizer(test):
    """For what preloads libraries of its own or measures memory: a sanitizer must come first, and takes much."""
    names, before = (b"__asan_init", b"__tsan_init"), b""
    # In pieces: the peak of this program's memory counts as that of each program it starts.
    with open(DOCTOR, "rb") as file:
        while piece := file.read(1 << 20):
            if any(name in before + piece for name in names):
                test.skipTest("the program has a sanitizer in it")
            before = piece[-len(names[0]):]


def raise_mappings(test, count):
    """Lets a process have that many mappings until the test is over."""
    limit = pathlib.Path("/proc/sys/vm/max_map_count")
    before = int(limit.read_text())
    if before >= count:
        return
    need_root(test)
    try:
        limit.write_text(str(count))
    except OSError as error:
        test.skipTest(f"cannot raise vm.max_map_count: {error}")
    test.addCleanup(limit.write_text, str(before))


def missing(test, reason):
    """Something that CI provides is not there."""
    if CI:
        test.fail(reason)
    test.skipTest(reason)


def fixture_folder():
    """Where scripts/fetch-fixtures puts what it fetches."""
    return pathlib.Path(os.environ.get("CUDART_DOCTOR_FIXTURES") or os.path.expanduser(
        os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/cudart-doctor/fixtures"))


def fixture(test, name, pattern):
    """The one file of a wheel's fixture that matches `pattern`."""
    found = sorted((fixture_folder() / name).glob(pattern))
    if not found:
        missing(test, f"no fixture {name}/{pattern} (scripts/fetch-fixtures)")
    return found[0]


RUNTIMES = {
    "11.8": ("cudart-11.8", "nvidia/cuda_runtime/lib/libcudart.so.11.0"),
    "12.4": ("cudart-12.4", "nvidia/cuda_runtime/lib/libcudart.so.12"),
    "12.8": ("cudart-12.8", "nvidia/cuda_runtime/lib/libcudart.so.12"),
    "13.0": ("cudart-13.0", "nvidia/cu13/lib/libcudart.so.13"),
    "13.2": ("cudart-13.2", "nvidia/cu13/lib/libcudart.so.13"),
    "tilelang-0.1.11": ("tilelang-0.1.11", "tilelang/lib/libcudart_stub.so"),
    "tilelang-0.1.12": ("tilelang-0.1.12", "tilelang/lib/libstub_cudart.so"),
}


class Case(unittest.TestCase):
    """A test with a folder of its own that everybody may enter."""

    def wait_until(self, condition, seconds=30):
        """Waits for another process to get somewhere."""
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "the other process did not get there")
            time.sleep(0.01)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cudart-doctor-test.")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.folder = pathlib.Path(folder.name).resolve()

    def runtime(self, version, name=None, folder="."):
        """A copy of a real runtime under `name` in the test's folder."""
        source = fixture(self, *RUNTIMES[version])
        target = self.folder / folder / (name or source.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        return target

    def compile(self, name, code, *flags):
        """A library of C code, made on the spot."""
        need_program(self, "gcc")
        target = self.folder / name
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", target, *flags],
                       input=code.encode(), check=True)
        return target

    def victim(self, *commands, **options):
        victim = Victim(self, **options)
        for command in commands:
            victim.do(command)
        return victim

    def report(self, *arguments, **options):
        """A run that must end with a JSON report."""
        ended = doctor("--json", *arguments, **options)
        self.assertIn(ended.code, (0, 1, 3), ended.message)
        document = ended.document
        self.assertNotIn("error", document)
        self.assertEqual(document["verdict"]["exit_code"], ended.code)
        return document

    def failure(self, code, *arguments, **options):
        """A run that must fail, in both formats; its message."""
        ended = doctor("--json", *arguments, **options)
        self.assertEqual(ended.code, code, ended.message)
        error = ended.document["error"]
        self.assertEqual(ended.document["verdict"]["exit_code"], code)
        self.assertEqual(error["kind"] == "usage", code == 2)
        plain = doctor(*arguments, **options)
        self.assertEqual((plain.code, plain.out), (code, b""))
        self.assertIn(error["message"].replace("\\\\", "\\"), plain.message)
        return plain.message


class Victim:
    """tests/cli/victim.py under an interpreter of the caller's choice."""

    def __init__(self, test, python=PYTHON, env=None, prefix=(), uid=None):
        script = test.folder / "victim.py"
        if not script.exists():
            shutil.copyfile(pathlib.Path(__file__).with_name("victim.py"), script)
        user = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
        self.process = subprocess.Popen(
            [*prefix, python, "-I", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=clean_environment() if env is None else env, cwd="/", **user)
        self.pid = self.process.pid
        test.addCleanup(self.end)
        self.do("pass")

    def do(self, line):
        self.process.stdin.write(line.encode("utf-8", "surrogateescape") + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().strip()
        if answer != "ok":
            raise RuntimeError(f"{line}: {answer}")

    def maps(self):
        return os.fsdecode(pathlib.Path(f"/proc/{self.pid}/maps").read_bytes())

    def end(self):
        self.process.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def by_path(report, path):
    """The one runtime of a report at `path`."""
    found = [each for each in report["runtimes"] if each["path"] == str(path)]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} runtimes at {path}: "
                             f"{[each['path'] for each in report['runtimes']]}")
    return found[0]


def findings(report):
    """Severity by id, the gravest where an id comes more than once."""
    order = ["info", "warning", "error", "critical"]
    out = {}
    for each in report["findings"]:
        before = out.get(each["id"], "info")
        out[each["id"]] = max(before, each["severity"], key=order.index)
    return out


def selection(report, policy):
    return next(each for each in report["selections"] if each["policy"] == policy)


def main():
    result = unittest.main(module="__main__", exit=False, verbosity=1).result
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}", file=sys.stderr)
    if not result.wasSuccessful():
        sys.exit(1)
    # A skipped part of a test counts as the test.
    skipped = {getattr(test, "test_case", test).id() for test, _ in result.skipped}
    sys.exit(77 if result.testsRun == len(skipped) else 0)
