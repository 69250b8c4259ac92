"""Time and memory of one inspection, beside a floor and other tools. Started by scripts/bench, which has the help."""

import contextlib
import subprocess

from bench_common import BARE_PYTHON, FLOOR, PART, PYTHON, Bench, Case, Row, fixture, options_of, run
from bench_victims import NotAllowed, family, make_libraries, map_count_limit, process, write_list

RSS_LIMIT_MIB = 64
FLOOR_TARGET = 2
SCAN = "import sys\nfor line in open(f'/proc/{sys.argv[1]}/maps'):\n    if 'libcudart' in line: print(line, end='')"
# What cannot be opened here (made for another interpreter, or wanting a driver) is mapped like a file instead.
FAMILY = """
import ctypes, mmap, sys
held = []
for path in sys.argv[1:]:
    try:
        held.append(ctypes.CDLL(path))
    except OSError:
        with open(path, "rb") as file:
            held.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("ready", sum(1 for _ in open("/proc/self/maps")), flush=True)
sys.stdin.read()
"""


class Inspect(Bench):
    programs = ("measure", "floor", "victim")

    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.libraries = self.sized(400, 10)
        self.made = make_libraries(folder, self.sized(800, 10))
        self.runtimes = fixture("cudart-12.8/nvidia/*/lib/libcudart.so.*")
        self.runtimes += fixture("tilelang-0.1.11/tilelang/lib/libcudart_stub.so")

    def victim(self, libraries):
        """The command of a process with that many libraries, and the runtimes."""
        listing = write_list(self.folder, f"libraries.{libraries}", self.made[:libraries] + self.runtimes)
        return [str(self.folder / "victim"), str(listing)]

    def inspection(self, pid, *more, **facts):
        name = " ".join(["cudart-doctor --pid", *more])
        return self.doctor("--pid", pid, "--json", "-o", "/dev/null", "--timeout", "30", *more, name=name, **facts)

    def floor(self, pid, target=None):
        return Row("floor", [str(self.folder / "floor"), str(pid)], FLOOR, target,
                   less="reads maps and 64 KiB of each file, and knows nothing")

    def peers(self, pid, files):
        return [
            Row("pldd", ["pldd", str(pid)], less="names of the libraries only"),
            Row("libtree", ["libtree", "-v", *files], less="of files, not of a process: what each would need"),
            Row("lsof", ["lsof", "-p", str(pid)], target=1, statuses=(0, 1), less="names of the files only"),
            Row("eu-unstrip", ["eu-unstrip", "-n", "--pid", str(pid)], target=1, less="addresses and build-ids only"),
            Row("Python scan of maps", [PYTHON, "-c", SCAN, str(pid)], target=1, less="lines with libcudart only"),
            Row("Python scan, -I -S", [*BARE_PYTHON, "-c", SCAN, str(pid)], less="lines with libcudart only"),
            Row("gdb", ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "info sharedlibrary"], target=1,
                less="addresses and names only; stops the process meanwhile"),
        ]

    def objects(self, pid):
        """The distinct files that are mapped."""
        command = [str(self.folder / "floor"), "--list", str(pid)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    def inspect(self, title, pid, mappings):
        """The doctor, plain and --deep, beside the floor and the other tools."""
        files = self.objects(pid)
        rows = [
            self.inspection(pid),
            self.inspection(pid, "--deep", role=PART),
            self.floor(pid, FLOOR_TARGET),
            *self.peers(pid, [path for path in files if ".so" in path]),
        ]
        self.measure(Case(title, rows, facts=f"{mappings:,} mappings, {len(files)} mapped files"))

    def many_mappings(self, title, pid, mappings):
        """The doctor beside reading the maps plus reading the heads of the objects."""
        files = self.objects(pid)
        paths = write_list(self.folder, "objects", files)
        cat = Row("cat maps", ["cat", f"/proc/{pid}/maps"], PART)
        heads = Row("floor of the objects alone", [str(self.folder / "floor"), "--objects"], PART, stdin=str(paths))
        both = Row("cat maps + floor of the objects", [], PART, 1.5, parts=(cat, heads))
        rows = [self.inspection(pid), cat, heads, self.floor(pid), both]
        self.measure(Case(title, rows, RSS_LIMIT_MIB, facts=f"{mappings:,} mappings, {len(files)} mapped files"),
                     self.few_rounds())

    @contextlib.contextmanager
    def mapped(self, libraries, mappings):
        with map_count_limit(mappings + 1000), process([*self.victim(libraries), str(mappings)]) as started:
            yield started

    def run(self):
        with process(self.victim(self.libraries)) as (pid, mappings):
            self.inspect(f"{self.libraries} libraries", pid, mappings)
        wanted = self.sized(100_000, 1000)
        title = f"{wanted:,} mappings"
        try:
            with self.mapped(self.libraries, wanted) as (pid, mappings):
                self.many_mappings(title, pid, mappings)
        except NotAllowed as error:
            self.keep(Case(title, [], skipped=str(error)))
        if self.options.family:
            with process([PYTHON, "-c", FAMILY, *map(str, family())]) as (pid, mappings):
                self.inspect("a Python process with the CUDA family", pid, mappings)

    def step(self, axis, size, pid):
        self.measure(Case(f"{size:,} {axis}", [self.inspection(pid), self.floor(pid)], axis=axis, size=size))

    def growth(self):
        for libraries in self.sized((25, 50, 100, 200, 400, 800), (5, 10)):
            with process(self.victim(libraries)) as (pid, _):
                self.step("mapped libraries", libraries, pid)
        for wanted in self.sized((1000, 3000, 10_000, 30_000, 100_000), (500, 1000)):
            try:
                with self.mapped(self.sized(100, 5), wanted) as (pid, _):
                    self.step("mappings", wanted, pid)
            except NotAllowed as error:
                self.keep(Case(f"{wanted:,} mappings", [], axis="mappings", size=wanted, skipped=str(error)))


if __name__ == "__main__":
    parser = options_of(__doc__)
    parser.add_argument("--family", action="store_true")
    run("inspect", Inspect, parser.parse_args())
