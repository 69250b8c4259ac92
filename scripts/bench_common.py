"""What the benchmarks share: commands in rows, interleaved rounds, tables, the file of samples.

Every command is run by tests/bench/measure.c. A round runs each command once, in rotating order, so that drift of
the machine meets all alike; ratios are taken within a round, and the median over the rounds is shown.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "bench"
FIXTURES = pathlib.Path(os.environ.get("CUDART_DOCTOR_FIXTURES", ""))
DEADLINE_S = 120
# The distribution's own where there is one, and the real file: a version manager's wrapper script would be measured
# as well.
PYTHON = os.path.realpath(shutil.which("python3", path="/usr/bin:/bin") or sys.executable)
# A peer must not be slow for what happens to be installed for it: without site-packages and their start-up hooks.
BARE_PYTHON = (PYTHON, "-I", "-S")
PROGRAM, FLOOR, PEER, PART = "program", "floor", "peer", "part"


class CannotMeasure(Exception):
    """The benchmark itself failed; says why."""


@dataclasses.dataclass
class Row:
    """A command and what was measured of it."""

    name: str
    command: list
    role: str = PEER  # PART: what others are made of, or a variant
    target: float | None = None  # what the program's time may be, as a multiple of this row's
    statuses: tuple = (0,)  # exit statuses that mean it did its work
    less: str = ""  # what it does not do that the program does
    stdin: str = "/dev/null"
    stdout: str = "/dev/null"
    variables: dict = dataclasses.field(default_factory=dict)  # added to the environment
    parts: tuple = ()  # rows whose sum this one is, round by round; it has no command then
    wall_ns: list = dataclasses.field(default_factory=list)
    cpu_ns: list = dataclasses.field(default_factory=list)
    rss_kib: list = dataclasses.field(default_factory=list)
    problem: str | None = None

    def document(self):
        kept = ("name", "role", "target", "less", "problem", "wall_ns", "cpu_ns", "rss_kib")
        return {key: value for key, value in vars(self).items() if key in kept}

    @classmethod
    def load(cls, document):
        return cls(command=[], **document)


@dataclasses.dataclass
class Case:
    """What is looked at, and who looked. The first row is the program's."""

    title: str
    rows: list
    rss_limit_mib: int | None = None
    axis: str = ""  # of a series: what its cases have more and more of
    size: int = 0
    facts: str = ""
    skipped: str = ""

    def document(self):
        return {**vars(self), "rows": [row.document() for row in self.rows]}

    @classmethod
    def load(cls, document):
        return cls(**{**document, "rows": [Row.load(row) for row in document["rows"]]})

    def of_role(self, role):
        """The rows of that role that were measured."""
        return [row for row in self.rows if row.role == role and not row.problem]


def fixture(pattern):
    found = sorted(FIXTURES.glob(pattern)) if FIXTURES.parts else []
    return found[:1]


def runtime_fixture():
    found = fixture("cudart-12.8/nvidia/*/lib/libcudart.so.*")
    if not found:
        raise CannotMeasure("the runtimes of scripts/fetch-fixtures are not there")
    return str(found[0])


def compile_programs(folder, names):
    for name in names:
        command = ["cc", "-std=gnu11", "-O2", str(SOURCES / f"{name}.c"), "-o", str(folder / name), "-ldl"]
        subprocess.run(command, check=True)


def sample(measure, row):
    """(wall ns, CPU ns, KiB) of one run of a row's command; notes a failure in the row."""
    command = [measure, "-i", row.stdin, "-o", row.stdout, *row.command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                          env={**os.environ, **row.variables}) as run:
        try:
            output, _ = run.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            row.problem = f"took longer than {DEADLINE_S} s"
            return None
    fields = output.split()
    if len(fields) != 4:
        row.problem = "did not start"
        return None
    *taken, status = map(int, fields)
    if status not in row.statuses:
        row.problem = f"exit status {status}"
        return None
    return taken


def measure_rows(measure, rows, rounds):
    commands = [row for row in rows if not row.parts]
    for row in commands:
        if shutil.which(row.command[0]) is None:
            row.problem = "not installed"
    for turn in range(rounds + 1):
        first = turn % len(commands)
        for row in commands[first:] + commands[:first]:
            taken = None if row.problem else sample(measure, row)
            if taken and turn > 0:  # round 0 warms the caches
                for values, value in zip((row.wall_ns, row.cpu_ns, row.rss_kib), taken):
                    values.append(value)
    for row in rows:
        if row.problem:  # half a series would be paired with the wrong rounds
            row.wall_ns, row.cpu_ns, row.rss_kib = [], [], []
        elif row.parts:
            add_up(row)


def add_up(row):
    row.wall_ns = [sum(walls) for walls in zip(*(part.wall_ns for part in row.parts))]
    row.cpu_ns = [sum(times) for times in zip(*(part.cpu_ns for part in row.parts))]
    row.rss_kib = [max(sizes) for sizes in zip(*(part.rss_kib for part in row.parts))]
    if not row.wall_ns:
        row.problem = "a part of it failed"


def pair_ratio(above, below):
    """Median over the rounds of one row's time as a multiple of another's; None where there is none."""
    ratios = [a / b for a, b in zip(above.wall_ns, below.wall_ns)]
    return statistics.median(ratios) if ratios else None


def yes_no(met):
    return "yes" if met else "NO"


def number(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


def median_ms(row):
    return statistics.median(row.wall_ns) / 1e6


def table(case):
    """Markdown."""
    if case.skipped:
        return f"Skipped: {case.skipped}."
    program = case.rows[0]
    floor = next((row for row in case.rows if row.role == FLOOR), None)
    lines = [
        "| command | median ms | min | max | CPU ms | peak RSS MiB | x floor | doctor / it | target | met |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in case.rows:
        if row.problem:
            lines.append(f"| {row.name} | {row.problem} | | | | | | | | |")
            continue
        walls = [wall / 1e6 for wall in row.wall_ns]
        rss = statistics.median(row.rss_kib) / 1024
        to_floor, by_doctor = floor and pair_ratio(row, floor), pair_ratio(program, row)
        target = met = ""
        if row is program and case.rss_limit_mib:
            target, met = f"RSS <= {case.rss_limit_mib} MiB", yes_no(rss <= case.rss_limit_mib)
        elif row.target and by_doctor is not None:
            sign = "<" if row.target == 1 else "<="
            target = f"{sign} {row.target:g}"
            met = yes_no(by_doctor < row.target if sign == "<" else by_doctor <= row.target)
        lines.append("| " + " | ".join([
            row.name, number(median_ms(row), 2), number(min(walls), 2), number(max(walls), 2),
            number(statistics.median(row.cpu_ns) / 1e6, 1), number(rss, 1), number(to_floor, 2),
            "" if row is program else number(by_doctor, 2), target, met]) + " |")
    return "\n".join(lines)


class Bench:
    """One benchmark at work: sets cases up in its folder, measures and prints them."""

    programs = ("measure",)  # of tests/bench

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.cases = []
        compile_programs(folder, self.programs)

    def sized(self, full, trial):
        return trial if self.options.trial else full

    def doctor(self, *arguments, **more):
        return Row(more.pop("name", "cudart-doctor"), [self.options.binary, *map(str, arguments)],
                   more.pop("role", PROGRAM), statuses=more.pop("statuses", (0, 1)), **more)

    def measure(self, case, rounds=None):
        measure_rows(str(self.folder / "measure"), case.rows, rounds or self.options.rounds)
        self.keep(case)

    def keep(self, case):
        print(f"\n### {case.title}\n\n{case.facts}{case.facts and chr(10) * 2}{table(case)}", flush=True)
        self.cases.append(case)

    def few_rounds(self):
        """For what takes seconds."""
        return min(self.options.rounds, max(5, self.options.rounds // 3))

    def failed(self):
        return any(row.problem and row.role in (PROGRAM, FLOOR) for case in self.cases for row in case.rows)


def machine_facts(binary):
    model = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(errors="replace"), re.M)
    version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "program": version.partition("\n")[0],
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "cpu": model[1] if model else platform.machine(),
        "load": round(os.getloadavg()[0], 2),
    }


def write(path, name, document):
    """Adds a benchmark to the file, in place of an earlier one of that name; the others stay."""
    path = pathlib.Path(path)
    known = json.loads(path.read_text()) if path.exists() else {}
    text = json.dumps({**known, name: document}, indent=1, sort_keys=True)
    # A row's samples are one line.
    text = re.sub(r"\[[\s\d,]+\]", lambda numbers: re.sub(r"\s+", " ", numbers[0]), text)
    path.write_text(text + "\n")


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def options_of(document):
    """The options that all have; a benchmark adds its own."""
    parser = argparse.ArgumentParser(description=document.splitlines()[0])
    parser.add_argument("--binary", help="the program to measure")
    parser.add_argument("--rounds", type=positive, default=15)
    parser.add_argument("--growth", action="store_true", help="how the cost grows")
    parser.add_argument("--trial", action="store_true", help="tiny sizes: does it work at all?")
    parser.add_argument("--json", metavar="FILE")
    return parser


def stop(signal_number, _frame):
    # As an exception, so that what was changed (vm.max_map_count) is put back.
    sys.exit(128 + signal_number)


def run(name, kind, options):
    """Measures, prints, writes; ends the program."""
    if not options.binary:
        sys.exit("bench: --binary is needed")
    options.binary = os.path.abspath(options.binary)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, stop)
    if options.growth:
        name += " growth"
    facts = {**machine_facts(options.binary), "rounds": options.rounds}
    print(f"\n## {name}\n\nLinux {facts['kernel']}, {facts['cpus']} CPUs, load {facts['load']} at the start; "
          f"{options.rounds} rounds", flush=True)
    # Not "cudart": the rules look closer at every line of maps that holds the word.
    with tempfile.TemporaryDirectory(prefix="doctor-bench.") as folder:
        try:
            # As installed: to start from the very file that the linker wrote takes 2 to 3 % longer.
            options.binary = shutil.copy(options.binary, folder)
            bench = kind(options, pathlib.Path(folder))
            if options.growth:
                bench.growth()
            else:
                bench.run()
        except (CannotMeasure, OSError, ValueError, subprocess.SubprocessError) as error:
            sys.exit(f"bench: could not measure: {error}")
    if options.json:
        write(options.json, name, {"machine": facts, "cases": [case.document() for case in bench.cases]})
    if bench.failed():
        sys.exit("bench: could not measure: see the tables")
