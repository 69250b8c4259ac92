"""Time and memory of one inspection, beside a floor and other tools. Started by scripts/bench, which has the help.

Every command is run by tests/bench/measure.c. A round runs each command once, in rotating order, so that drift of
the machine meets all alike; ratios are taken within a round, and the median over the rounds is shown.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "tests" / "bench"
FIXTURES = pathlib.Path(os.environ.get("CUDART_DOCTOR_FIXTURES", ""))
TOOLKIT = pathlib.Path("/usr/local/cuda/lib64")
MAX_MAP_COUNT = pathlib.Path("/proc/sys/vm/max_map_count")
LIBRARIES = 400
MAPPINGS = 100_000
RSS_LIMIT_MIB = 64
DEADLINE_S = 120
# The real interpreter: a version manager's wrapper script would be measured as well.
PYTHON = os.path.realpath(sys.executable)
SCAN = "import sys\nfor line in open(f'/proc/{sys.argv[1]}/maps'):\n    if 'libcudart' in line: print(line, end='')"


class CannotMeasure(Exception):
    """The benchmark itself failed; says why."""


class NotAllowed(Exception):
    """This machine does not let us set up a case; says why. The case is skipped."""


@dataclasses.dataclass
class Row:
    """A command and what was measured of it."""

    name: str
    command: list
    target: float | None = None  # what the doctor's time may be, as a multiple of this row's
    statuses: tuple = (0,)  # exit statuses that mean it did its work
    stdin: str | None = None
    wall_ns: list = dataclasses.field(default_factory=list)
    rss_kib: list = dataclasses.field(default_factory=list)
    problem: str | None = None


def compile_programs(folder):
    for name in ("floor", "victim", "measure"):
        command = ["cc", "-std=gnu11", "-O2", str(SOURCES / f"{name}.c"), "-o", str(folder / name), "-ldl"]
        subprocess.run(command, check=True)


def make_libraries(folder):
    """LIBRARIES small shared libraries that differ in soname and build-id, as real ones do.

    One is linked; the others are copies with the two replaced by others of the same length, which takes
    milliseconds instead of a linker run each."""
    functions = "".join(f"int bench_function_{i}(int x) {{ return x + {i}; }}\n" for i in range(64))
    soname, build_id = "libbench000.so", "b0" * 20
    source = folder / "library.c"
    source.write_text(functions)
    first = folder / soname
    flags = ["-shared", "-fPIC", "-O1", f"-Wl,-soname,{soname}", f"-Wl,--build-id=0x{build_id}"]
    subprocess.run(["cc", *flags, str(source), "-o", str(first)], check=True)
    image = first.read_bytes()
    paths = [first]
    for i in range(1, LIBRARIES):
        path = folder / f"libbench{i:03}.so"
        copy = image.replace(soname.encode(), path.name.encode())
        path.write_bytes(copy.replace(bytes.fromhex(build_id), i.to_bytes(20, "big")))
        paths.append(path)
    return paths


def fixture(pattern):
    found = sorted(FIXTURES.glob(pattern)) if FIXTURES.parts else []
    return found[:1]


@contextlib.contextmanager
def process(command):
    """A victim: prints "ready MAPPINGS", then lives until its stdin closes."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as victim:
        try:
            ready = victim.stdout.readline().split()
            if ready[:1] != ["ready"]:
                raise CannotMeasure(f"the process to look at did not start: {' '.join(command[:3])}")
            yield victim.pid, int(ready[1])
        finally:
            victim.stdin.close()


@contextlib.contextmanager
def map_count_limit(wanted):
    """Raises vm.max_map_count for as long as needed."""
    before = int(MAX_MAP_COUNT.read_text())
    if before >= wanted:
        yield
        return
    try:
        MAX_MAP_COUNT.write_text(str(wanted))
    except OSError as error:
        raise NotAllowed(f"vm.max_map_count could not be raised: {error.strerror}") from error
    try:
        yield
    finally:
        MAX_MAP_COUNT.write_text(str(before))


def sample(measure, row):
    """One run of a row's command; notes a failure in the row."""
    command = [measure, *(["-i", row.stdin] if row.stdin else []), *row.command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as run:
        try:
            output, _ = run.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            row.problem = f"took longer than {DEADLINE_S} s"
            return None
    fields = output.split()
    if len(fields) != 3:
        row.problem = "did not start"
        return None
    wall, rss, status = map(int, fields)
    if status not in row.statuses:
        row.problem = f"exit status {status}"
        return None
    return wall, rss


def measure_rows(measure, rows, rounds):
    for row in rows:
        if row.command and shutil.which(row.command[0]) is None:
            row.problem = "not installed"
    for number in range(rounds + 1):
        turn = number % len(rows)
        for row in rows[turn:] + rows[:turn]:
            taken = None if row.problem else sample(measure, row)
            if taken and number > 0:  # round 0 warms the caches
                row.wall_ns.append(taken[0])
                row.rss_kib.append(taken[1])
    for row in rows:
        if row.problem:  # half a series would be paired with the wrong rounds
            row.wall_ns, row.rss_kib = [], []


def sum_row(name, parts, target):
    """What the parts took together, round by round."""
    row = Row(name, [], target)
    row.wall_ns = [sum(walls) for walls in zip(*(part.wall_ns for part in parts))]
    row.rss_kib = [max(sizes) for sizes in zip(*(part.rss_kib for part in parts))]
    if not row.wall_ns:
        row.problem = "a part of it failed"
    return row


def pair_ratio(above, below):
    ratios = [a / b for a, b in zip(above.wall_ns, below.wall_ns)]
    return statistics.median(ratios) if ratios else None


def yes_no(met):
    return "yes" if met else "NO"


def table(rows, rss_limit=None):
    """Markdown. rows[0] is the doctor; the row named "floor" is the floor."""
    doctor, floor = rows[0], next(row for row in rows if row.name == "floor")
    lines = [
        "| command | median ms | min | max | peak RSS MiB | x floor | doctor / it | target | met |",
        "|---|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        if row.problem:
            lines.append(f"| {row.name} | {row.problem} | | | | | | | |")
            continue
        walls = [wall / 1e6 for wall in row.wall_ns]
        rss = statistics.median(row.rss_kib) / 1024
        to_floor, by_doctor = pair_ratio(row, floor), pair_ratio(doctor, row)
        target = met = ""
        if row is doctor and rss_limit:
            target, met = f"RSS <= {rss_limit} MiB", yes_no(rss <= rss_limit)
        elif row.target and by_doctor is not None:
            sign = "<" if row.target == 1 else "<="
            target = f"{sign} {row.target:g}"
            met = yes_no(by_doctor < row.target if sign == "<" else by_doctor <= row.target)
        cells = [
            row.name,
            f"{statistics.median(walls):.2f}",
            f"{min(walls):.2f}",
            f"{max(walls):.2f}",
            f"{rss:.1f}",
            "" if to_floor is None else f"{to_floor:.2f}",
            "" if by_doctor is None or row is doctor else f"{by_doctor:.2f}",
            target,
            met,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.results = []
        self.failed = False
        compile_programs(folder)
        self.measure = str(folder / "measure")
        self.floor = str(folder / "floor")

    def doctor(self, pid, *more):
        options = ["--pid", str(pid), "--json", "-o", "/dev/null", "--timeout", "30"]
        name = " ".join(["cudart-doctor", *more])
        return Row(name, [self.options.binary, *options, *more], statuses=(0, 1))

    def peers(self, pid):
        return [
            Row("eu-unstrip", ["eu-unstrip", "-n", "--pid", str(pid)], 1),
            Row("lsof", ["lsof", "-p", str(pid)], 1, (0, 1)),
            Row("pldd", ["pldd", str(pid)]),
            Row("Python scan of maps", [PYTHON, "-c", SCAN, str(pid)], 1),
        ]

    def objects(self, pid):
        listing = subprocess.run([self.floor, "--list", str(pid)], check=True, capture_output=True, text=True).stdout
        path = self.folder / f"objects.{pid}"
        path.write_text(listing)
        return path, listing.count("\n")

    def report(self, title, mappings, objects, rows, rss_limit=None):
        print(f"\n### {title}\n\n{mappings} mappings, {objects} mapped files\n\n{table(rows, rss_limit)}", flush=True)
        if rows[0].problem or any(row.name == "floor" and row.problem for row in rows):
            self.failed = True
        self.results.append(
            {
                "title": title,
                "mappings": mappings,
                "objects": objects,
                "rows": [dataclasses.asdict(row) for row in rows],
            }
        )

    def inspect(self, title, pid, mappings):
        """The doctor, plain and --deep, beside the floor and the other tools."""
        rows = [
            self.doctor(pid),
            self.doctor(pid, "--deep"),
            Row("floor", [self.floor, str(pid)], 2),
            *self.peers(pid),
        ]
        measure_rows(self.measure, rows, self.options.rounds)
        self.report(title, mappings, self.objects(pid)[1], rows)

    def many_mappings(self, title, pid, mappings):
        """The doctor beside reading the maps plus reading the heads of the objects."""
        paths, count = self.objects(pid)
        cat = Row("cat maps", ["cat", f"/proc/{pid}/maps"])
        heads = Row("floor of the objects alone", [self.floor, "--objects"], stdin=str(paths))
        rows = [self.doctor(pid), cat, heads, Row("floor", [self.floor, str(pid)])]
        measure_rows(self.measure, rows, max(5, self.options.rounds // 3))
        rows.append(sum_row("cat + floor of the objects", [cat, heads], 1.5))
        self.report(title, mappings, count, rows, RSS_LIMIT_MIB)

    def run(self):
        libraries = make_libraries(self.folder)
        libraries += fixture("cudart-12.8/nvidia/*/lib/libcudart.so.*")
        libraries += fixture("tilelang-0.1.11/tilelang/lib/libcudart_stub.so")
        listing = self.folder / "libraries"
        listing.write_text("".join(f"{path}\n" for path in libraries))
        victim = [str(self.folder / "victim"), str(listing)]

        with process(victim) as (pid, mappings):
            self.inspect(f"{LIBRARIES} libraries", pid, mappings)

        title = f"{MAPPINGS:,} mappings"
        try:
            with map_count_limit(MAPPINGS + 1000), process([*victim, str(MAPPINGS)]) as (pid, mappings):
                self.many_mappings(title, pid, mappings)
        except NotAllowed as error:
            print(f"\n### {title}\n\nskipped: {error}", flush=True)
            self.results.append({"title": title, "skipped": str(error)})

        if self.options.family:
            with process([PYTHON, "-c", FAMILY, *map(str, family())]) as (pid, mappings):
                self.inspect("a Python process with the CUDA family", pid, mappings)


def family():
    """Genuine runtime, look-alike, static copy, the big libraries of wheels or toolkit: what is there."""
    paths = fixture("cudart-12.8/nvidia/*/lib/libcudart.so.*")
    paths += fixture("tilelang-0.1.11/tilelang/lib/libcudart_stub.so")
    paths += fixture("cuda-bindings/cuda/bindings/_bindings/cyruntime.*.so")
    for name in ("cublasLt", "cublas", "curand", "cusparse", "cusolver", "nvrtc"):
        in_toolkit = [path for path in (TOOLKIT / f"lib{name}.so",) if path.exists()]
        paths += fixture(f"*/nvidia/*/lib/lib{name}.so.*") or in_toolkit
    return paths


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


def stop(number, _frame):
    # As an exception, so that what was changed (vm.max_map_count) is put back.
    sys.exit(128 + number)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=positive, default=15)
    parser.add_argument("--family", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)

    machine = {"kernel": platform.release(), "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}
    print(f"## inspect\n\nLinux {machine['kernel']}, {machine['cpus']} CPUs, load {machine['load']} at the start")
    # Not "cudart": the rules look closer at every line of maps that holds the word.
    with tempfile.TemporaryDirectory(prefix="doctor-bench.") as folder:
        try:
            bench = Bench(options, pathlib.Path(folder))
            bench.run()
        except (CannotMeasure, OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"bench: could not measure: {error}")
    if options.json:
        document = {"benchmark": "inspect", "machine": machine, "victims": bench.results}
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    if bench.failed:
        sys.exit("bench: could not measure: see the tables")


if __name__ == "__main__":
    main()
