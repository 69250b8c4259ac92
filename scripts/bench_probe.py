"""Time and memory of one probe, beside a floor. Started by scripts/bench, which has the help.

A round runs the floor (tests/bench/probe_floor.c), a probe of one runtime and a probe of three, in rotating order, so
that drift of the machine meets all alike; ratios are taken within a round, and the median over the rounds is shown.
Memory is watched in runs of its own, which are not timed.
"""

import contextlib
import dataclasses
import glob
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

from bench_common import (DEADLINE_S, FLOOR, PART, PROGRAM, ROOT, Bench, CannotMeasure, Case, Row, compile_programs,
                          options_of, pair_ratio, run, yes_no)

KERNELS = ROOT / "src" / "cuda" / "kernels"
ONE_LIMIT = 1.25  # times the floor
THREE_LIMIT = 1.1  # times one candidate
RSS_LIMIT_MIB = 32
RSS_RUNS = 3


@dataclasses.dataclass
class Probed(Row):
    """rss_kib has samples of its own, so is shorter."""

    candidates: int | None = None  # how many the doctor is to probe


def has_gpu():
    return bool(glob.glob("/dev/nvidia[0-9]*")) or os.path.exists("/dev/dxg")


def elf_machine(path):
    """The machine that an ELF file is for, as its header has it."""
    with open(path, "rb") as file:
        return file.read(20)[18:]


def find_runtimes(folder):
    """Three runtimes of different files for this machine: the newest of each major version first, then what else there
    is."""
    machine = elf_machine(sys.executable)
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("libcudart.so.*"), reverse=True):
        match = re.fullmatch(r"libcudart\.so\.(\d+)[\d.]*", path.name)
        if match and path.is_file() and elf_machine(path) == machine:
            info = path.stat()
            found.setdefault((info.st_dev, info.st_ino), (int(match[1]), path.resolve()))
    newest_first = sorted(found.values(), reverse=True)
    majors = set()
    firsts = [entry for entry in newest_first if entry[0] not in majors and not majors.add(entry[0])]
    chosen = firsts + [entry for entry in newest_first if entry not in firsts]
    if len(chosen) < 3:
        raise CannotMeasure(f"{folder}: holds {len(chosen)} files libcudart.so.N, and three are needed")
    return [str(path) for _, path in chosen[:3]]


def environment(first):
    """One card for all, and the first candidate where the loader looks, lest it add one of its own."""
    variables = dict(os.environ)
    variables["CUDA_VISIBLE_DEVICES"] = (variables.get("CUDA_VISIBLE_DEVICES") or "0").split(",")[0]
    folders = [os.path.dirname(first), variables.get("LD_LIBRARY_PATH", "")]
    variables["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    return variables


def has_hidden_argument(pid):
    """True for the processes that the doctor starts of itself to load CUDA."""
    arguments = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return len(arguments) > 1 and arguments[1].startswith(b"__")


def family_of(pid):
    """The process and all that descend from it."""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = pathlib.Path(path).read_text(errors="replace")
            parent = int(text[text.rindex(")") + 2 :].split()[1])
            children.setdefault(parent, []).append(int(path.split("/")[2]))
    family = [pid]
    for member in family:
        family += children.get(member, [])
    return family


def peak_rss_kib(pid):
    """The largest process of the family, those that load CUDA left out.

    The kernel's own count for a child (ru_maxrss) holds its children's as well, which have hundreds of MiB."""
    peak = 0
    for member in family_of(pid):
        with contextlib.suppress(OSError):
            if has_hidden_argument(member):
                continue
            match = re.search(r"VmHWM:\s*(\d+)", pathlib.Path(f"/proc/{member}/status").read_text(errors="replace"))
            peak = max(peak, int(match[1]) if match else 0)
    return peak


class Probe(Bench):
    programs = ()  # it has to run where there is no compiler

    def __init__(self, options, folder):
        super().__init__(options, folder)
        self.runtimes = find_runtimes(options.runtimes)
        self.variables = environment(self.runtimes[0])
        if not options.floor:
            compile_programs(folder, ["probe_floor"])
        floor = os.path.abspath(options.floor or folder / "probe_floor")
        images = [str(KERNELS / "mhc.fatbin"), str(KERNELS / "mhc.ptx")]
        self.floor = Probed("floor", [floor, self.runtimes[0], *images], FLOOR,
                            less="the same calls of CUDA, without a verdict")
        self.one = self.probing("one candidate", PROGRAM, self.runtimes[:1])
        self.three = self.probing("three candidates", PART, self.runtimes)
        self.rows = [self.one, self.floor, self.three]

    def probing(self, name, role, runtimes):
        loads = [word for path in runtimes for word in ("--load", path)]
        command = [self.options.binary, "--probe", "on", "--json", *loads]
        return Probed(name, command, role, statuses=(0, 1), candidates=len(runtimes))

    @contextlib.contextmanager
    def started(self, row, stdout=subprocess.DEVNULL):
        """The command while it runs; its exit status is judged at the end."""
        with open(self.folder / "stderr", "w+", encoding="utf-8", errors="replace") as errors:
            run = subprocess.Popen(
                row.command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors, env=self.variables,
                start_new_session=True,
            )
            # A wait with a time limit polls, in steps of up to 50 ms.
            limit = threading.Timer(DEADLINE_S, os.killpg, (run.pid, signal.SIGKILL))
            limit.start()
            try:
                yield run
                run.wait()
            finally:
                limit.cancel()
                if run.poll() is None:
                    os.killpg(run.pid, signal.SIGKILL)
                    run.wait()
            if run.returncode not in row.statuses:
                errors.seek(0)
                said = errors.read().strip().splitlines()[-2:]
                raise CannotMeasure(f"{row.name}: exit status {run.returncode}: {' / '.join(said)}")

    def time(self, row):
        begin = time.monotonic_ns()
        with self.started(row) as run:
            run.wait()
            wall = time.monotonic_ns() - begin
        return wall

    def watch_memory(self, row):
        peak = 0
        with self.started(row) as run:
            while run.poll() is None:
                peak = max(peak, peak_rss_kib(run.pid))
                time.sleep(0.002)
        row.rss_kib.append(peak)

    def check_report(self, row):
        """A probe that was not run would be measured as a quick one."""
        path = self.folder / "report"
        with path.open("w") as output, self.started(row, output) as run:
            run.wait()
        probe = json.loads(path.read_text()).get("probe")
        if not isinstance(probe, dict) or probe.get("decision") != "run":
            reason = probe.get("reason") if isinstance(probe, dict) else "the report says nothing of it"
            raise CannotMeasure(f"{row.name}: not probed: {reason}")
        probed = [runtime for runtime in probe.get("runtimes", []) if not runtime.get("skipped")]
        if len(probed) != row.candidates:
            raise CannotMeasure(f"{row.name}: {len(probed)} runtimes were probed instead of {row.candidates}")

    def run(self):
        self.time(self.floor)  # the first use of a card is slower than any other
        for row in (self.one, self.three):
            self.check_report(row)
        for number in range(self.options.rounds):
            turn = number % len(self.rows)
            for row in self.rows[turn:] + self.rows[:turn]:
                row.wall_ns.append(self.time(row))
        for row in (self.one, self.three):
            for _ in range(RSS_RUNS):
                self.watch_memory(row)
        self.cases.append(Case("one card", self.rows, facts=", ".join(card_names())))
        print(f"\n{', '.join(card_names()) or 'cards unknown'}\n\n{self.table()}\n\nCandidates:")
        for path in self.runtimes:
            print(f"- {os.path.relpath(path, os.path.realpath(self.options.runtimes))}")
        if self.options.kernels:
            # Its own verdict (exit status 1: far below a copy) is in its text.
            done = subprocess.run([self.options.kernels, "--bench"], capture_output=True, text=True, timeout=DEADLINE_S)
            print(f"\n## kernels\n\n{done.stdout.strip()}{done.stderr.strip()}")

    def table(self):
        lines = [
            "| what | median | min | max | compared | target | met |",
            "|---|--:|--:|--:|--:|--:|---|",
        ]

        def add(name, values, digits, comparison=None, limit=None, unit=""):
            cells = [name, *(f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))]
            if limit is None:
                cells += ["", "", ""]
            else:
                text, value = comparison
                cells += [text, f"<= {limit:g}{unit}", yes_no(value <= limit)]
            lines.append("| " + " | ".join(cells) + " |")

        def add_time(row, below=None, limit=None):
            comparison = None
            if below:
                ratio = pair_ratio(row, below)
                comparison = (f"{ratio:.3f} x {below.name}", ratio)
            add(f"{row.name}, ms", [wall / 1e6 for wall in row.wall_ns], 1, comparison, limit)

        add_time(self.floor)
        add_time(self.one, self.floor, ONE_LIMIT)
        add_time(self.three, self.one, THREE_LIMIT)
        for row in (self.one, self.three):
            sizes = [size / 1024 for size in row.rss_kib]
            add(f"parent's peak RSS, {row.name}, MiB", sizes, 1, ("", max(sizes)), RSS_LIMIT_MIB)
        return "\n".join(lines)


def card_names():
    """Of the driver's own list; empty where there is none."""
    names = []
    for path in sorted(glob.glob("/proc/driver/nvidia/gpus/*/information")):
        match = re.search(r"Model:\s*(.+)", pathlib.Path(path).read_text(errors="replace"))
        names.append(match[1].strip() if match else "?")
    return names


def main():
    parser = options_of(__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether there is a GPU")
    parser.add_argument("--floor", help="a probe_floor that is built already")
    parser.add_argument("--kernels", help="mhc_gpu, for the bandwidth of its kernels")
    parser.add_argument("--runtimes", help="folder with three runtimes")
    options = parser.parse_args()
    if not has_gpu():
        sys.exit("bench: no GPU")
    if options.check:
        return
    if not options.runtimes:
        parser.error("--runtimes is needed")
    run("probe", Probe, options)


if __name__ == "__main__":
    main()
