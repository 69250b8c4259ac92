"""What `run` adds to a command's time. Started by scripts/bench, which has the help.

A round runs each command bare, under an audit library that does nothing (the least that any recorder in the loader
costs), and under `cudart-doctor run`, in rotating order, so that drift of the machine meets all alike; differences and
ratios are taken within a round, and the median over the rounds is shown. Two times are taken: until the command's work
is done, which is when its last line has run, and until everything is, the report included.
"""

import dataclasses
import os
import shutil
import statistics
import subprocess
import time

from bench_common import (DEADLINE_S, FLOOR, PART, PROGRAM, PYTHON, Bench, CannotMeasure, Case, Row, options_of, run,
                          yes_no)
from bench_victims import family

# The names of a case's rows.
KINDS = {"run": PROGRAM, "bare": FLOOR, "empty audit": PART}
EMPTY_AUDIT = "unsigned la_version(unsigned version) { return version; }\n"
SHELL_LOOP = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done"
# A command prints the time in its last line. What cannot be opened here (it wants a driver) is passed over, as bare.
LAST_LINE = "import time; print(time.monotonic_ns())"
OPEN_ALL = """
import ctypes
for path in sys.argv[1:]:
    try:
        ctypes.CDLL(path)
    except OSError:
        pass
"""


ITS_WORK, ALL = 0, 1  # the two times of a sample


@dataclasses.dataclass
class Target:
    """What the command may take more: a share of its bare time, and milliseconds."""

    share: float
    milliseconds: float = 0
    until: int = ALL

    def text(self):
        more = f" + {self.milliseconds:g} ms" if self.milliseconds else ""
        return f"{self.share:.0%}{more} for {'all' if self.until == ALL else 'its work'}"

    def met(self, bare_ns, more_ns):
        return more_ns <= self.share * bare_ns + self.milliseconds * 1e6


@dataclasses.dataclass
class Started(Row):
    """One kind of start of a command; wall_ns is until everything has ended."""

    until_work_ns: list = dataclasses.field(default_factory=list)  # until its last line; empty where it tells no time

    def document(self):
        return {**super().document(), "until_work_ns": self.until_work_ns}

    def times(self, until):
        return self.until_work_ns if until == ITS_WORK else self.wall_ns


class Work(Case):
    """A command, and a row for each kind of start."""

    def __init__(self, title, rows, goal):
        super().__init__(title, rows)
        self.goal = goal

    @classmethod
    def of(cls, title, command, goal):
        return cls(title, [Started(kind, command, role) for kind, role in KINDS.items()], goal)

    @classmethod
    def load(cls, document):
        goal = document["goal"]
        return cls(document["title"], [Started.load(row) for row in document["rows"]], goal and Target(**goal))

    def document(self):
        return {**super().document(), "goal": self.goal and vars(self.goal)}

    def row(self, kind):
        return next(row for row in self.rows if row.name == kind)

    def until(self):
        return ITS_WORK if self.row("bare").until_work_ns else ALL


def spawn(command, environment):
    """(nanoseconds until its last line or None, until its end); the command must end with 0."""
    began = time.monotonic_ns()
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)
    ended = time.monotonic_ns()
    if done.returncode != 0:
        raise CannotMeasure(f"{' '.join(command)[:200]}: exit status {done.returncode}")
    word = done.stdout.strip()
    return (int(word) - began if word.isdigit() else None), ended - began


class Run(Bench):
    programs = ()

    def __init__(self, options, folder):
        super().__init__(options, folder)
        if shutil.which("gzip") is None:
            raise CannotMeasure("gzip is not installed")
        self.audit = str(folder / "empty.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-nostdlib", "-O2", "-x", "c", "-", "-o", self.audit],
                       input=EMPTY_AUDIT.encode(), check=True)

    def without_cuda(self, folder):
        small = Target(0.03, 5)
        plain = folder / "plain"
        block = os.urandom(1 << 16).hex().encode()
        with plain.open("wb") as file:
            while file.tell() < self.sized(50, 1) * 1000 * 1000:
                file.write(block)
        return [
            Work.of("sh: 100 times true", ["/bin/sh", "-c", SHELL_LOOP], small),
            Work.of("python -c pass", self.python(""), small),
            Work.of(f"gzip of {self.sized(50, 1)} MB", ["/bin/sh", "-c", f"gzip -1 -c {plain} > /dev/null"], small),
        ]

    def with_cuda(self):
        numpy = subprocess.run([self.options.python, "-c", "import numpy"], capture_output=True, check=False)
        first = "import numpy" if numpy.returncode == 0 else ""
        name = "numpy, " if first else ""
        libraries = [str(path) for path in family()]
        if not libraries:
            raise CannotMeasure("no CUDA libraries: run scripts/fetch-fixtures")
        libraries = libraries[:self.sized(None, 1)]
        works = [
            Work.of(f"python: {name}{len(libraries)} CUDA libraries", self.python(first + OPEN_ALL, *libraries),
                 Target(0.05, until=ITS_WORK)),
            # Too short for a share: what a launch costs once.
            Work.of("python: one runtime", self.python(OPEN_ALL, libraries[0]), None),
        ]
        if first:
            works.insert(0, Work.of("python: numpy", self.python(first), Target(0.03, 5)))
        return works

    def python(self, code, *arguments):
        return [self.options.python, "-c", f"import sys\n{code}\n{LAST_LINE}", *arguments]

    def started(self, row):
        environment = dict(os.environ)
        environment.pop("LD_AUDIT", None)
        command = row.command
        if row.name == "empty audit":
            environment["LD_AUDIT"] = self.audit
        elif row.name == "run":
            command = [self.options.binary, "run", "-o", "/dev/null", *self.options.option, "--", *command]
        return spawn(command, environment)

    def time(self, work):
        for number in range(self.options.rounds + 1):
            turn = number % len(work.rows)
            for row in work.rows[turn:] + work.rows[:turn]:
                until_work, wall = self.started(row)
                if number > 0:  # round 0 warms the caches
                    row.wall_ns.append(wall)
                    if until_work is not None:
                        row.until_work_ns.append(until_work)
        self.cases.append(work)

    def run(self):
        for work in self.without_cuda(self.folder) + self.with_cuda():
            self.time(work)
        print(f"\n{work_table(self.cases)}", flush=True)


def more(work, kind, until):
    """Median over the rounds of what this kind took more than the bare one, nanoseconds."""
    pairs = zip(work.row(kind).times(until), work.row("bare").times(until))
    return statistics.median(a - b for a, b in pairs)


def work_table(works):
    lines = [
        "| command | bare ms | empty audit | run, its work | run, all | target | met |",
        "|---|--:|--:|--:|--:|---|---|",
    ]
    for work in works:
        until = work.until()
        target, bare = work.goal, work.row("bare")
        met = target and yes_no(
            target.met(statistics.median(bare.times(target.until)), more(work, "run", target.until)))

        def cell(kind, at):
            extra = more(work, kind, at)
            return f"{extra / 1e6:+.2f} ms ({extra / statistics.median(bare.times(at)):+.1%})"

        lines.append("| " + " | ".join([
            work.title, f"{statistics.median(bare.times(until)) / 1e6:.2f}", cell("empty audit", until),
            cell("run", until), cell("run", ALL), target.text() if target else "", met or ""]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = options_of(__doc__)
    parser.add_argument("--python", default=PYTHON)
    parser.add_argument("--option", action="append", default=[], help="a further option of run")
    run("run", Run, parser.parse_args())
