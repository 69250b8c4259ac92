"""Reads every report in every format for programs with a library that is not ours.

usage: formats_test.py WRITE_REPORTS CASE_RUNNER SCHEMA CASE...
Exit 77 (skipped) where a library is missing; a failure under CI=true.
"""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

try:
    import jsonschema
    import junitparser
    from prometheus_client.parser import text_string_to_metric_families
except ImportError as error:
    print(f"{error.name} is not installed (scripts/setup --test)")
    sys.exit(1 if os.environ.get("CI") == "true" else 77)

WRITE_REPORTS, CASE_RUNNER, SCHEMA, *CASES = sys.argv[1:]
del sys.argv[1:]
PERFORMANCE = re.compile(r"[a-z]+=\d+;;;0")


def for_each(suffix):
    """A test of each report: the file in the format, and the JSON."""
    def decorate(test):
        @functools.wraps(test)
        def every(self):
            for stem, report in self.reports:
                with self.subTest(stem.name):
                    test(self, stem.with_suffix(suffix), report)
        return every
    return decorate


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run([WRITE_REPORTS, cls.folder.name + "/", "formats"], check=True)
        subprocess.run([CASE_RUNNER, "--reports", cls.folder.name, *CASES], check=True,
                       stdout=subprocess.DEVNULL)
        stems = sorted(path.with_suffix("") for path in pathlib.Path(cls.folder.name).glob("*.xml"))
        cls.reports = [(stem, json.loads(stem.with_suffix(".json").read_text())) for stem in stems]
        if len(cls.reports) < len(CASES):
            raise AssertionError(f"only {len(cls.reports)} reports were written")

    @for_each(".json")
    def test_json_keeps_the_schema(self, path, report):
        schema = jsonschema.Draft202012Validator(json.loads(pathlib.Path(SCHEMA).read_text()))
        schema.validate(report)

    @for_each(".prom")
    def test_prometheus_reads_the_gauges_and_they_say_what_the_report_says(self, path, report):
        text = path.read_text()
        families = {family.name: family for family in text_string_to_metric_families(text)}
        for family in families.values():
            self.assertEqual(family.type, "gauge")
            self.assertTrue(family.documentation.endswith("."), family.name)
            self.assertTrue(family.samples, family.name)
            self.assertEqual([s for s in family.samples if s.timestamp is not None], [])
            keys = [tuple(sorted(sample.labels.items())) for sample in family.samples]
            self.assertEqual(len(keys), len(set(keys)), family.name)
        states = {s.labels["state"]: s.value
                  for s in families["cudart_doctor_verdict"].samples}
        self.assertEqual([state for state, on in states.items() if on == 1],
                         [report["verdict"]["state"]])
        found = families.get("cudart_doctor_findings")
        counted = [f for f in report["findings"] if f["allowed"] is None]
        self.assertEqual(sum(s.value for s in found.samples) if found else 0, len(counted))

    @for_each(".prom")
    def test_promtool_finds_nothing_to_say(self, path, report):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is not installed (Debian: prometheus)")
        done = subprocess.run([promtool, "check", "metrics"], input=path.read_bytes(),
                              capture_output=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    @for_each(".xml")
    def test_junit_counts_and_results_are_those_of_the_report(self, path, report):
        ElementTree.parse(path)
        suites = junitparser.JUnitXml.fromfile(str(path))
        cases = [case for suite in suites for case in suite]
        results = [type(result).__name__ for case in cases for result in case.result]
        self.assertEqual(suites.tests, len(cases))
        self.assertEqual((suites.failures, suites.errors, suites.skipped),
                         tuple(map(results.count, ("Failure", "Error", "Skipped"))))
        names = [(case.classname, case.name) for case in cases]
        self.assertEqual(len(names), len(set(names)))
        failed = {case.name.split()[0] for case in cases
                  if any(isinstance(result, junitparser.Failure) for result in case.result)}
        order = ["info", "warning", "error", "critical"]
        limit = order.index(report["verdict"]["fail_on"])
        self.assertEqual(failed, {f["id"] for f in report["findings"] if f["allowed"] is None
                                  and order.index(f["severity"]) >= limit})
        if report["verdict"]["state"] == "undecided":
            self.assertEqual(suites.errors, 1)

    @for_each(".line")
    def test_a_line_is_one_line_of_80_bytes(self, path, report):
        raw = path.read_bytes()
        raw.decode()
        self.assertTrue(raw.endswith(b"\n"))
        self.assertLessEqual(len(raw), 81)
        self.assertEqual(raw.count(b"\n"), 1)
        if report["verdict"]["state"] == "findings":
            worst = report["findings"][0]
            self.assertTrue(raw.decode().startswith(
                f"{worst['severity'].upper()} {worst['id']} "))

    @for_each(".nagios")
    def test_a_plug_ins_line_has_its_state_and_well_formed_performance_data(self, path, report):
        words = {"ok": "OK", "warning": "WARNING", "findings": "CRITICAL", "undecided": "UNKNOWN"}
        text, *data = path.read_text().rstrip("\n").split("|")
        self.assertTrue(text.startswith(f"CUDART {words[report['verdict']['state']]} - "))
        self.assertLessEqual(len(text.encode()), 81)
        self.assertEqual(len(data), 0 if report["verdict"]["state"] == "undecided" else 1)
        for part in data[0].split() if data else []:
            self.assertRegex(part, PERFORMANCE)

    @for_each(".github")
    def test_every_line_for_github_is_one_command(self, path, report):
        lines = path.read_text().splitlines()
        for line in lines:
            self.assertRegex(line, r"^::(error|warning|notice) title=[^:,]+::.")
        counted = [f for f in report["findings"] if f["allowed"] is None]
        undecided = report["verdict"]["state"] == "undecided"
        ended = len(report["verdict"]["ended_allowances"])
        self.assertEqual(len(lines), len(counted) + undecided + ended)


unittest.main()
