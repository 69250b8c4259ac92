"""The figures of docs/performance.md, made of the samples that scripts/bench wrote. Pure: documents in, text out."""

import re
import statistics

from bench_common import FLOOR, PEER, PROGRAM, Case, median_ms, number, pair_ratio, table
from bench_run import ALL, Work, more, work_table

MS_A_MINUTE = 60_000
# What for, in which benchmark, and a word of the case's title.
ANSWERS = (
    ("Before every launch: this environment, no probe", "start", "this environment"),
    ("A running process with 400 libraries", "inspect", "libraries"),
    ("A running process with 100,000 mappings", "inspect", "mappings"),
    ("A process with PyTorch's CUDA libraries", "inspect", "CUDA"),
    ("Every node, every minute: 1,000 processes, 16 with CUDA", "tree", "16 with CUDA"),
    ("... and where all have it", "tree", "all with CUDA"),
    ("The cause in a log of 100 MB", "explain", "a server's log"),
    ("1,000 reports compared", "diff", "reports"),
    ("A snapshot replayed", "start", "a snapshot"),
    ("To start and end", "start", "start-up"),
)
BEGIN = "<!-- figures: begin {} -->"
END = "<!-- figures: end -->"


def cases_of(samples, name):
    kind = Work if name == "run" else Case
    return [kind.load(case) for case in samples.get(name, {"cases": []})["cases"]]


def find_case(samples, name, word):
    return next((case for case in cases_of(samples, name) if word in case.title), None)


def fastest_peer(case):
    return min(case.of_role(PEER), key=median_ms, default=None)


def answer_row(what, case):
    program = case.of_role(PROGRAM)[0]
    floor, peer = case.of_role(FLOOR), fastest_peer(case)
    return [
        what, f"`{program.name}`", number(median_ms(program), 1), number(statistics.median(program.cpu_ns) / 1e6, 1),
        number(statistics.median(program.rss_kib) / 1024, 1), number(pair_ratio(program, floor[0]), 2) if floor else "",
        f"{pair_ratio(program, peer):.2f} ({peer.name})" if peer else ""]


def answer(samples):
    lines = ["| what for | command | ms | CPU ms | peak MiB | x floor | x fastest other tool |",
             "|---|---|--:|--:|--:|--:|---|"]
    for what, name, word in ANSWERS:
        case = find_case(samples, name, word)
        if case and case.of_role(PROGRAM):
            lines.append("| " + " | ".join(answer_row(what, case)) + " |")
    said = ["\n".join(lines), minute(samples), launches(samples)]
    return "\n\n".join(filter(None, said))


def minute(samples):
    case = find_case(samples, "tree", "16 with CUDA")
    if not case or not case.of_role(PROGRAM):
        return ""
    cpu = statistics.median(case.of_role(PROGRAM)[0].cpu_ns) / 1e6
    processes = case.title.partition(" ")[0]
    return f"Once a minute on a node of {processes} processes that is {cpu / MS_A_MINUTE:.2%} of one core."


def launches(samples):
    works = [f"`{work.title}` {more(work, 'run', ALL) / 1e6:+.1f} ms" for work in cases_of(samples, "run")]
    return f"What `run` adds to a launch, verdict included: {', '.join(works)}." if works else ""


def details(name):
    def text(samples):
        parts = []
        for case in cases_of(samples, name):
            less = [f"{row.name} ({row.less})" for row in case.rows if row.less]
            parts += [f"**{case.title[0].upper()}{case.title[1:]}**{case.facts and ': '}{case.facts}", table(case)]
            if less:
                parts.append(f"Do less: {', '.join(less)}.")
        return "\n\n".join(parts)
    return text


def runs(samples):
    works = cases_of(samples, "run")
    return work_table(works) if works else ""


def series(samples):
    """The cases of every growing thing, measured ones only, by what grows."""
    found = {}
    for name in sorted(samples):
        for case in cases_of(samples, name):
            if case.axis and case.of_role(PROGRAM) and case.of_role(FLOOR):
                found.setdefault(case.axis, []).append(case)
    return found


def growth_of(axis, cases):
    lines = [f"| {axis} | " + " | ".join(f"{case.size:,}" for case in cases) + " |", "|---|" + "--:|" * len(cases)]
    programs, floors = [case.of_role(PROGRAM)[0] for case in cases], [case.of_role(FLOOR)[0] for case in cases]

    def add(name, values, digits):
        lines.append(f"| {name} | " + " | ".join(number(value, digits) for value in values) + " |")

    add(f"`{programs[0].name}`, ms", map(median_ms, programs), 1)
    add("floor, ms", map(median_ms, floors), 1)
    add("x floor", map(pair_ratio, programs, floors), 2)
    add("peak MiB", (statistics.median(row.rss_kib) / 1024 for row in programs), 1)
    return "\n".join(lines) + f"\n\n{a_further_one(cases, programs, floors)}"


def a_further_one(cases, programs, floors):
    """Of the largest two: what is paid once is in neither."""
    if len(cases) < 2:
        return ""
    count = cases[-1].size - cases[-2].size
    each = [(median_ms(rows[-1]) - median_ms(rows[-2])) * 1000 / count for rows in (programs, floors)]
    return f"Between the last two each further one costs {each[0]:.1f} us (floor: {each[1]:.1f} us)."


def growth(samples):
    return "\n\n".join(growth_of(axis, cases) for axis, cases in series(samples).items())


def machine(samples):
    known = {}
    for name, document in samples.items():
        facts = document["machine"]
        key = (facts["date"], facts["program"], facts["kernel"], facts["cpus"], facts["cpu"])
        known.setdefault(key, []).append((name, facts))
    lines = []
    for (date, program, kernel, cpus, cpu), found in sorted(known.items()):
        loads = [facts["load"] for _, facts in found]
        rounds = sorted({facts["rounds"] for _, facts in found})
        lines.append(f"- {date}, {program}, Linux {kernel}, {cpus} CPUs ({cpu}), load {min(loads):g} to {max(loads):g}, "
                     f"{' or '.join(map(str, rounds))} rounds: {', '.join(sorted(name for name, _ in found))}")
    return "\n".join(lines)


BLOCKS = {
    "answer": answer,
    "machine": machine,
    **{name: details(name) for name in ("start", "inspect", "explain", "diff", "tree")},
    "run": runs,
    "growth": growth,
}


def fill(page, samples):
    """The page with its figures in place of what stood between the markers."""
    def block(match):
        text = BLOCKS[match[1]](samples) or "Not measured."
        return f"{BEGIN.format(match[1])}\n\n{text}\n\n{END}"
    return re.sub(f"{BEGIN.format('([a-z]+)')}\n.*?{END}", block, page, flags=re.DOTALL)
