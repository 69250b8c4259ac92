"""What `run` adds to a command's time. Started by scripts/bench, which has the help.

A round runs each command bare, under an audit library that does nothing (the least that any recorder in the loader
costs), and under `cudart-doctor run`, in rotating order, so that drift of the machine meets all alike; differences and
ratios are taken within a round, and the median over the rounds is shown. Two times are taken: until the command's work
is done, which is when its last line has run, and until everything is, the report included.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench_inspect import CannotMeasure, family, positive, yes_no

KINDS = ("bare", "empty audit", "run")
EMPTY_AUDIT = "unsigned la_version(unsigned version) { return version; }\n"
COMPRESSED_BYTES = 50 * 1000 * 1000
SHELL_LOOP = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done"
DEADLINE_S = 120
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
class Work:
    """A command, and by kind of start the samples: until its last line and until the end, nanoseconds."""

    name: str
    command: list
    target: Target | None
    tells_time: bool = False  # its only output is the time of its last line
    samples: dict = dataclasses.field(default_factory=lambda: {kind: [] for kind in KINDS})


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


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.audit = str(folder / "empty.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-nostdlib", "-O2", "-x", "c", "-", "-o", self.audit],
                       input=EMPTY_AUDIT.encode(), check=True)
        self.works = self.without_cuda(folder) + self.with_cuda()

    def without_cuda(self, folder):
        small = Target(0.03, 5)
        plain = folder / "plain"
        block = os.urandom(1 << 16).hex().encode()
        with plain.open("wb") as file:
            while file.tell() < COMPRESSED_BYTES:
                file.write(block)
        return [
            Work("sh: 100 times true", ["/bin/sh", "-c", SHELL_LOOP], small),
            Work("python -c pass", self.python(""), small, True),
            Work("gzip of 50 MB", ["/bin/sh", "-c", f"gzip -1 -c {plain} > /dev/null"], small),
        ]

    def with_cuda(self):
        numpy = subprocess.run([self.options.python, "-c", "import numpy"], capture_output=True, check=False)
        first = "import numpy" if numpy.returncode == 0 else ""
        name = "numpy, " if first else ""
        libraries = [str(path) for path in family()]
        if not libraries:
            raise CannotMeasure("no CUDA libraries: run scripts/fetch-fixtures")
        works = [
            Work(f"python: {name}{len(libraries)} CUDA libraries", self.python(first + OPEN_ALL, *libraries),
                 Target(0.05, until=ITS_WORK), True),
            # Too short for a share: what a launch costs once.
            Work("python: one runtime", self.python(OPEN_ALL, libraries[0]), None, True),
        ]
        if first:
            works.insert(0, Work("python: numpy", self.python(first), Target(0.03, 5), True))
        return works

    def python(self, code, *arguments):
        return [self.options.python, "-c", f"import sys\n{code}\n{LAST_LINE}", *arguments]

    def started(self, work, kind):
        environment = dict(os.environ)
        environment.pop("LD_AUDIT", None)
        command = work.command
        if kind == "empty audit":
            environment["LD_AUDIT"] = self.audit
        elif kind == "run":
            command = [self.options.binary, "run", "-o", "/dev/null", *self.options.option, "--", *command]
        return spawn(command, environment)

    def measure(self, work):
        for number in range(self.options.rounds + 1):
            turn = number % len(KINDS)
            for kind in KINDS[turn:] + KINDS[:turn]:
                taken = self.started(work, kind)
                if number > 0:  # round 0 warms the caches
                    work.samples[kind].append(taken)

    def run(self):
        for work in self.works:
            self.measure(work)
        print(table(self.works), flush=True)


def column(work, kind, index):
    return [sample[index] for sample in work.samples[kind]]


def more(work, kind, index):
    """Median over the rounds of what this kind took more than the bare one, nanoseconds."""
    return statistics.median(a - b for a, b in zip(column(work, kind, index), column(work, "bare", index)))


def table(works):
    lines = [
        "| command | bare ms | empty audit | run, its work | run, all | target | met |",
        "|---|--:|--:|--:|--:|---|---|",
    ]
    for work in works:
        index = ITS_WORK if work.tells_time else ALL
        bare = statistics.median(column(work, "bare", index))
        target = work.target
        met = target and yes_no(target.met(statistics.median(column(work, "bare", target.until)),
                                           more(work, "run", target.until)))

        def cell(kind, at):
            extra = more(work, kind, at)
            return f"{extra / 1e6:+.2f} ms ({extra / statistics.median(column(work, 'bare', at)):+.1%})"

        lines.append("| " + " | ".join([
            work.name, f"{bare / 1e6:.2f}", cell("empty audit", index), cell("run", index), cell("run", ALL),
            target.text() if target else "", met or ""]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=positive, default=15)
    parser.add_argument("--python", default=os.path.realpath(sys.executable))
    parser.add_argument("--option", action="append", default=[], help="a further option of run")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    if shutil.which("gzip") is None:
        sys.exit("bench: gzip is not installed")
    machine = {"kernel": platform.release(), "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}
    print(f"## run\n\nLinux {machine['kernel']}, {machine['cpus']} CPUs, load {machine['load']} at the start; "
          f"{options.rounds} rounds\n")
    with tempfile.TemporaryDirectory(prefix="doctor-bench.") as folder:
        try:
            bench = Bench(options, pathlib.Path(folder))
            bench.run()
        except (CannotMeasure, OSError, subprocess.SubprocessError) as error:
            sys.exit(f"bench: could not measure: {error}")
    if options.json:
        document = {"benchmark": "run", "machine": machine,
                    "works": [{"name": work.name, "samples": work.samples} for work in bench.works]}
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
