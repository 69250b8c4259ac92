"""Time and memory of `diff` on many reports, beside reading and beside parsing them. Started by scripts/bench, which has
the help.

All read the same files from the page cache.
"""

import json
import pathlib
import subprocess

from bench_common import BARE_PYTHON, FLOOR, Bench, CannotMeasure, Case, Row, options_of, run

RSS_LIMIT_MIB = 128  # for 1,000 reports
PARSE = "import json,sys\nfor p in sys.argv[1:]: json.load(open(p))"


class Diff(Bench):
    def reports(self, most):
        """Reports of `most` nodes: of this environment, each with its own host and PID; every 50th lacks a finding."""
        taken = subprocess.run([self.options.binary, "--json", "--probe", "off"], capture_output=True, check=False)
        if taken.returncode not in (0, 1):
            raise CannotMeasure(f"a report of this environment: {taken.stderr.decode().strip()}")
        report = json.loads(taken.stdout)
        paths = []
        for node in range(most):
            report["host"]["name"] = f"node{node}"
            report["target"]["pid"] = 1000 + node
            one = report if node % 50 else {**report, "findings": report["findings"][1:]}
            paths.append(f"{self.folder}/{node:05}.json")
            pathlib.Path(paths[-1]).write_text(json.dumps(one))
        return paths

    def compare(self, paths, **more):
        size = pathlib.Path(paths[0]).stat().st_size
        rows = [
            self.doctor("diff", *paths, name="cudart-doctor diff", stdout=f"{self.folder}/out"),
            Row("floor", ["cat", *paths], FLOOR, less="cat: reads the reports, and knows nothing"),
            Row("json.load of Python", [*BARE_PYTHON, "-c", PARSE, *paths], less="parses, and compares nothing"),
        ]
        self.measure(Case(f"{len(paths):,} reports", rows, facts=f"reports of {size / 1024:.0f} KiB", **more),
                     self.few_rounds())

    def run(self):
        self.compare(self.reports(self.sized(1000, 5)), rss_limit_mib=RSS_LIMIT_MIB)

    def growth(self):
        counts = self.sized((250, 500, 1000, 2000, 4000), (2, 4))
        paths = self.reports(max(counts))
        for count in counts:
            self.compare(paths[:count], axis="reports", size=count)


if __name__ == "__main__":
    run("diff", Diff, options_of(__doc__).parse_args())
