"""Time and memory of `diff` on many reports, beside reading and beside parsing them. Started by scripts/bench, which has
the help.

All read the same files from the page cache, in turn; ratios are taken within a round, and the median over the rounds is
shown.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEASURE = ROOT / "tests" / "bench" / "measure.c"
COUNTS = (250, 1000, 4000)
TIME_LIMIT_S = 2  # for 1,000 reports
RSS_LIMIT_MIB = 128
PARSE = "import json,sys\nfor p in sys.argv[1:]: json.load(open(p))"


def make_reports(binary, folder, most):
    """Reports of `most` nodes: of this environment, each with its own host and PID; every 50th lacks a runtime."""
    taken = subprocess.run([binary, "--json", "--probe", "off"], capture_output=True, check=False)
    if taken.returncode not in (0, 1):
        sys.exit(f"bench: could not measure: a report of this environment: {taken.stderr.decode().strip()}")
    report = json.loads(taken.stdout)
    paths = []
    for number in range(most):
        report["host"]["name"] = f"node{number}"
        report["target"]["pid"] = 1000 + number
        one = report if number % 50 else {**report, "findings": report["findings"][1:]}
        paths.append(f"{folder}/{number:05}.json")
        pathlib.Path(paths[-1]).write_text(json.dumps(one))
    return paths


def sample(measure, command, out):
    """(nanoseconds, KiB) of one run."""
    run = subprocess.run([measure, "-o", out, *command], check=True, capture_output=True, text=True)
    wall, rss, status = map(int, run.stdout.split())
    if status not in (0, 1):
        sys.exit(f"bench: could not measure: {command[0]} ended with {status}")
    return wall, rss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    print(f"## diff\n\nLinux {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f} at the start")
    results = {}
    with tempfile.TemporaryDirectory(prefix="doctor-bench.") as folder:
        measure = f"{folder}/measure"
        subprocess.run(["cc", "-std=gnu11", "-O2", str(MEASURE), "-o", measure], check=True)
        paths = make_reports(binary, folder, max(COUNTS))
        size = os.path.getsize(paths[0])
        print(f"reports of {size / 1024:.0f} KiB\n")
        print("| reports | `cudart-doctor diff` ms | peak MiB | `cat` ms | `json.load` of Python ms | diff / json.load "
              "| us a report |\n|--:|--:|--:|--:|--:|--:|--:|")
        for count in COUNTS:
            commands = {
                "diff": [binary, "diff", *paths[:count]],
                "cat": ["cat", *paths[:count]],
                "python": [sys.executable, "-c", PARSE, *paths[:count]],
            }
            samples = {name: [] for name in commands}
            for number in range(options.rounds + 1):
                for name, command in commands.items():
                    taken = sample(measure, command, f"{folder}/out")
                    if number > 0:  # round 0 warms the caches
                        samples[name].append(taken)
            walls = {name: statistics.median(wall for wall, _ in taken) / 1e6 for name, taken in samples.items()}
            rss = max(size for _, size in samples["diff"]) / 1024
            ratio = statistics.median(a[0] / b[0] for a, b in zip(samples["diff"], samples["python"]))
            print(f"| {count} | {walls['diff']:.0f} | {rss:.0f} | {walls['cat']:.0f} | {walls['python']:.0f} "
                  f"| {ratio:.2f} | {walls['diff'] * 1000 / count:.0f} |", flush=True)
            results[count] = samples
            if count == 1000:
                met = walls["diff"] < TIME_LIMIT_S * 1000 and rss < RSS_LIMIT_MIB
        print(f"\n1,000 reports in under {TIME_LIMIT_S} s and {RSS_LIMIT_MIB} MiB: {'yes' if met else 'NO'}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"benchmark": "diff", "counts": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
