"""Every benchmark works at tiny sizes, and the page is made of its samples."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support
from support import DOCTOR, SOURCE

SCRIPTS = SOURCE / "scripts"
sys.path.insert(0, str(SCRIPTS))
import bench_common  # noqa: E402
import bench_page  # noqa: E402
import plot_bench  # noqa: E402

LIMIT_S = 60
MACHINE = {"date": "2026-01-02", "program": "cudart-doctor 0", "kernel": "6", "cpus": 2, "cpu": "C", "load": 0.5,
           "rounds": 3}
PAGE = "".join(f"{bench_page.BEGIN.format(name)}\nold\n{bench_page.END}\n" for name in bench_page.BLOCKS)


def row(name, role, wall_ms, **more):
    return bench_common.Row(name, [], role, wall_ns=[ms * 1_000_000 for ms in wall_ms], cpu_ns=[1_000_000] * len(wall_ms),
                            rss_kib=[2048] * len(wall_ms), **more)


def samples(*cases, name="inspect"):
    return {name: {"machine": MACHINE, "cases": [case.document() for case in cases]}}


def made_up():
    """One benchmark with a floor, a peer and one that is missing; one series."""
    def rows(ms):
        return [row("cudart-doctor", "program", [ms, ms + 2, ms + 1]), row("floor", "floor", [5, 8, 4])]

    usual = bench_common.Case("400 libraries", [*rows(10), row("lsof", "peer", [20, 20, 20], less="names only"),
                                                row("gdb", "peer", [], problem="not installed")])
    grown = [bench_common.Case(f"{size} libraries", rows(size), axis="mapped libraries", size=size) for size in (10, 20)]
    return {**samples(usual), **samples(*grown, name="inspect growth")}


class Measured(unittest.TestCase):
    def measured(self, name, *options):
        with tempfile.TemporaryDirectory(prefix="doctor-bench-test.") as folder:
            path = pathlib.Path(folder) / "samples.json"
            done = subprocess.run(
                [sys.executable, SCRIPTS / f"bench_{name}.py", "--binary", DOCTOR, "--trial", "--rounds", "1", "--json",
                 path, *options], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                env={**os.environ, "CUDART_DOCTOR_FIXTURES": str(support.fixture_folder())})
            if "scripts/fetch-fixtures" in done.stderr:
                support.missing(self, done.stderr.strip())
            self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
            return json.loads(path.read_text())

    def test_each_benchmark_measures_its_program_and_its_floor(self):
        for name in ("start", "inspect", "explain", "diff", "run", "tree"):
            with self.subTest(name):
                for case in bench_page.cases_of(self.measured(name), name):
                    for role in ("program", "floor"):
                        self.assertTrue(case.skipped or case.of_role(role), f"{case.title}: {role}")

    def test_each_series_has_more_than_one_size(self):
        for name in ("inspect", "explain", "diff", "tree"):
            with self.subTest(name):
                found = bench_page.series(self.measured(name, "--growth"))
                self.assertTrue(found)
                for cases in found.values():
                    self.assertGreater(len({case.size for case in cases}), 1)

    def test_a_file_keeps_the_benchmarks_that_were_not_measured_anew(self):
        with tempfile.TemporaryDirectory(prefix="doctor-bench-test.") as folder:
            path = pathlib.Path(folder) / "samples.json"
            bench_common.write(path, "diff", {"cases": [1]})
            bench_common.write(path, "tree", {"cases": [2]})
            bench_common.write(path, "diff", {"cases": [3]})
            self.assertEqual(json.loads(path.read_text()), {"diff": {"cases": [3]}, "tree": {"cases": [2]}})


class Rounds(unittest.TestCase):
    def test_a_ratio_is_the_median_of_those_within_a_round(self):
        # That of the medians would be 11 / 5.
        self.assertEqual(bench_common.pair_ratio(row("", "", [10, 12, 11]), row("", "", [5, 8, 4])), 2)

    def test_a_command_that_is_not_there_is_said_and_has_no_samples(self):
        rows = [bench_common.Row("it", ["/no/such/program"])]
        bench_common.measure_rows("/no/measure", rows, 1)
        self.assertEqual((rows[0].problem, rows[0].wall_ns), ("not installed", []))


class Page(unittest.TestCase):
    def test_a_table_says_times_ratios_and_what_is_missing(self):
        text = bench_page.fill(PAGE, made_up())
        self.assertIn("| cudart-doctor | 11.00 | 10.00 | 12.00 | 1.0 | 2.0 | 2.00 |", text)
        self.assertIn("| gdb | not installed |", text)
        self.assertIn("lsof (names only)", text)
        self.assertIn("| A running process with 400 libraries | `cudart-doctor` | 11.0 | 1.0 | 2.0 | 2.00 | 0.55 (lsof) |",
                      text)

    def test_a_series_says_what_a_further_one_costs(self):
        self.assertIn("each further one costs 1000.0 us (floor: 0.0 us)", bench_page.fill(PAGE, made_up()))

    def test_nothing_old_stays_between_the_markers(self):
        once = bench_page.fill(PAGE, made_up())
        self.assertNotIn("old", once)
        self.assertEqual(bench_page.fill(once, made_up()), once)
        self.assertIn("Not measured.", bench_page.fill(PAGE, {}))

    def test_the_page_has_every_block_and_the_figures_of_its_samples(self):
        page = (SOURCE / "docs/performance.md").read_text()
        self.assertEqual(sorted(re.findall("<!-- figures: begin ([a-z]+) -->", page)), sorted(bench_page.BLOCKS))
        self.assertEqual(bench_page.fill(page, json.loads((SOURCE / "docs/performance/samples.json").read_text())), page)


class Plots(unittest.TestCase):
    def luminance(self, colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def test_every_colour_stands_out_on_a_light_and_on_a_dark_page(self):
        for colour in (plot_bench.TEXT, *plot_bench.COLOURS.values()):
            for ground in ("#ffffff", "#0d1117"):
                high, low = sorted((self.luminance(colour), self.luminance(ground)), reverse=True)
                self.assertGreaterEqual((high + 0.05) / (low + 0.05), 3, f"{colour} on {ground}")

    def test_the_same_samples_give_the_same_bytes(self):
        try:
            plot_bench.plots()
        except ImportError:
            self.skipTest("no matplotlib (scripts/setup --plot)")
        with tempfile.TemporaryDirectory(prefix="doctor-bench-test.") as folder:
            drawn = []
            for name in ("one", "two"):
                plot_bench.draw(made_up(), pathlib.Path(folder) / name)
                drawn.append({path.name: path.read_text() for path in (pathlib.Path(folder) / name).iterdir()})
        self.assertEqual(sorted(drawn[0]), ["growth-mapped-libraries.svg", "inspect.svg"])
        self.assertEqual(drawn[0], drawn[1])
        self.assertIn("400 libraries", drawn[0]["inspect.svg"])

    def test_the_page_shows_every_plot_and_each_is_small(self):
        page = (SOURCE / "docs/performance.md").read_text()
        plots = sorted((SOURCE / "docs/performance").glob("*.svg"))
        self.assertGreater(len(plots), 5)
        for plot in plots:
            self.assertIn(f"(performance/{plot.name})", page)
            self.assertLess(plot.stat().st_size, 60_000, plot.name)


class Help(unittest.TestCase):
    def test_the_scripts_say_how_they_are_used(self):
        for name in ("bench", "plot-bench"):
            done = subprocess.run([SCRIPTS / name, "--help"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
            self.assertEqual((done.returncode, done.stdout[:6]), (0, "Usage:"), name)
            wrong = subprocess.run([SCRIPTS / name, "--no-such-option"], capture_output=True, timeout=LIMIT_S, check=False)
            self.assertEqual(wrong.returncode, 2, name)


if __name__ == "__main__":
    support.main()
