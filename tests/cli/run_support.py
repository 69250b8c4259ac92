"""Commands for the tests of `run`."""
import pathlib
import tempfile

from support import Case, PYTHON, clean_environment, doctor

# Loads what is named, tells so, and ends with the code given.
LOADS = """
import ctypes, os, sys
for path in sys.argv[2:]:
    ctypes.CDLL(path)
print("loaded", flush=True)
sys.exit(int(sys.argv[1]))
"""
# The same, and then waits until it is told to go on, or to end.
WAITS = """
import ctypes, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path)
print("waiting", flush=True)
sys.stdin.read()
"""
# The same, but only a signal ends it.
SLEEPS = WAITS.replace("sys.stdin.read()", "import time; time.sleep(1000)")


def python(code, *arguments):
    return [PYTHON, "-I", "-c", code, *map(str, arguments)]


def run(*options, command, **more):
    """`run` with its options, and how it ended."""
    return doctor("run", *options, "--", *command, **more)


class RunCase(Case):
    def own_place(self):
        """A place for recorders that no other test uses, and the environment that names it."""
        folder = tempfile.TemporaryDirectory(prefix="place.")
        self.addCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        place.chmod(0o755)
        return place, clean_environment(TMPDIR=str(place))

    def good(self):
        """A runtime of which nothing is wrong."""
        return [self.runtime("12.8", folder="good")]

    def bad(self):
        """Two copies of one runtime under one soname: RT05, an error."""
        return [self.runtime("12.8", folder="first"), self.runtime("12.4", folder="second")]

    def document(self, *options, command, **more):
        """The JSON report of a run, in a file beside the command's own output."""
        path = self.folder / "report.json"
        ended = run("--json", "-o", path, *options, command=command, **more)
        self.assertTrue(path.exists(), ended.message)
        ended.out, shown = path.read_bytes(), ended.out
        path.unlink()
        document = ended.document
        ended.out = shown
        return ended, document
