"""Formats and exit codes for monitors and CI systems, of reports and of runs that have none."""
import os
import subprocess
import xml.etree.ElementTree as ElementTree

import support
from support import Case, doctor

STYLES = ["default", "nagios", "npd", "always-zero"]


def codes(*of_styles):
    return dict(zip(STYLES, of_styles))


class WarningCase(Case):
    """A snapshot whose worst finding is a warning: a runtime that was deleted."""

    def setUp(self):
        super().setUp()
        path = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        victim = self.victim(f"load({str(path)!r})")
        path.unlink()
        self.snapshot = self.folder / "snapshot"
        self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", self.snapshot,
                                "--exit-style", "nagios").code, 0)
        self.pid = victim.pid
        report = self.report("--from", self.snapshot)
        self.assertEqual(report["verdict"]["worst"], "warning")
        self.findings = report["findings"]

    def replay(self, *arguments):
        return doctor("--from", self.snapshot, *arguments)


class ExitStyles(WarningCase):
    def test_a_report_has_the_code_of_its_style_in_every_format(self):
        for fail_on, state, wanted in (("warning", "findings", codes(1, 2, 1, 0)),
                                       ("error", "warning", codes(0, 1, 0, 0))):
            for style, code in wanted.items():
                with self.subTest(fail_on=fail_on, style=style):
                    options = ("--fail-on", fail_on, "--exit-style", style)
                    for form in ("text", "json", "line", "prometheus", "junit"):
                        self.assertEqual(self.replay("--format", form, *options).code, code, form)
                    verdict = self.replay("--json", *options).document["verdict"]
                    self.assertEqual((verdict["exit_code"], verdict["exit_style"],
                                      verdict["state"]), (code, style, state))
                    self.assertIn(f"\nEXIT {code}   ", self.replay(*options).text)

    def test_a_wrong_command_line_and_a_missing_process_have_their_codes(self):
        child = subprocess.Popen(["true"])
        child.wait()
        for arguments, wanted in ((["--bogus"], codes(2, 3, 2, 0)),
                                  (["--pid", "1", "--port", "2"], codes(2, 3, 2, 0)),
                                  (["policies", "--github"], codes(2, 3, 2, 0)),
                                  (["--from", self.folder / "nowhere"], codes(2, 3, 2, 0)),
                                  (["--pid", child.pid], codes(3, 3, 2, 0))):
            for style, code in wanted.items():
                with self.subTest(arguments=arguments, style=style):
                    self.assertEqual(doctor(*arguments, "--exit-style", style).code, code)
                    ended = doctor(*arguments, f"--exit-style={style}", "--json")
                    verdict = ended.document["verdict"]
                    self.assertEqual((ended.code, verdict["exit_code"], verdict["exit_style"]),
                                     (code, code, style))

    def test_a_style_that_is_none_is_a_usage_error_of_the_default(self):
        self.assertIn("'nagois' is none of default, nagios, npd, always-zero",
                      self.failure(2, "--exit-style", "nagois"))

    def test_an_output_that_cannot_be_written_has_its_code(self):
        for style, code in codes(2, 3, 2, 0).items():
            ended = self.replay("--exit-style", style, "-o", "/dev/full")
            self.assertEqual((ended.code, ended.out), (code, b""))
            self.assertIn("No space left on device", ended.message)

    def test_explain_of_what_it_does_not_know_has_its_code(self):
        for style, code in codes(3, 3, 2, 0).items():
            ended = doctor("explain", "-", "--exit-style", style, "--json")
            self.assertEqual(ended.code, code)
            self.assertIn(f'"exit_code": {code}', ended.text)

    def test_help_and_version_are_no_verdict(self):
        for style in STYLES:
            for flag in ("--help", "--version"):
                self.assertEqual(doctor("--exit-style", style, flag).code, 0)
        self.assertEqual([line for line in doctor("--help").text.splitlines()
                          if line.startswith("  could not decide") or "Exit codes" in line],
                         ["Exit codes, by --exit-style              default  nagios  npd  "
                          "always-zero", "  could not decide: no permission, process"])


class Formats(WarningCase):
    def test_a_line_names_verdict_code_and_process(self):
        line = self.replay("--format", "line").text
        self.assertTrue(line.startswith(f"WARNING {self.findings[0]['id']} "), line)
        self.assertTrue(line.endswith(f" (pid {self.pid})\n"), line)
        line = self.replay("--format", "line", "--exit-style", "nagios").text
        self.assertTrue(line.startswith("CUDART WARNING - "), line)
        self.assertRegex(line, r" \| critical=0;;;0 error=0;;;0 warning=\d+;;;0 ")

    def test_a_replay_gives_the_same_bytes_in_every_format(self):
        for form in ("line", "prometheus", "junit"):
            first, second = (self.replay("--format", form).out for _ in range(2))
            self.assertEqual(first, second)
            self.assertTrue(first)

    def test_a_textfile_is_replaced_as_a_whole(self):
        target = self.folder / "cudart.prom"
        target.write_text("old")
        before = target.stat().st_ino
        self.assertEqual(self.replay("--format", "prometheus", "-o", target).out, b"")
        self.assertNotEqual(target.stat().st_ino, before)
        self.assertIn('cudart_doctor_verdict{state="warning"} 1\n', target.read_text())

    def test_tables_have_no_line_and_no_suite(self):
        for command in (["policies"], ["explain"], ["explain", "RT04"]):
            for form in ("line", "prometheus", "junit"):
                ended = doctor(*command, "--format", form)
                self.assertEqual(ended.code, 2)
                self.assertIn("policies and explain are text or json", ended.message)

    def test_annotations_go_to_stderr_and_leave_the_report_alone(self):
        for form in ("text", "json", "line"):
            plain = self.replay("--format", form)
            ended = self.replay("--format", form, "--github")
            self.assertEqual((ended.code, ended.out, plain.err), (plain.code, plain.out, b""))
            lines = ended.message.splitlines()
            self.assertEqual(len(lines), len(self.findings))
            for line, finding in zip(lines, self.findings):
                level = "notice" if finding["severity"] == "info" else "warning"
                self.assertTrue(line.startswith(
                    f"::{level} title={finding['id']} {finding['slug']}::"), line)
        self.assertTrue(self.replay("--github", "--fail-on", "warning").message
                        .startswith("::error title="))


class Failures(Case):
    """Runs that end without a report still give each reader a document of its own."""

    def check(self, code, part, *arguments):
        line = doctor(*arguments, "--format", "line")
        self.assertEqual(line.code, code)
        self.assertTrue(line.text.startswith("UNKNOWN "), line.text)
        self.assertIn(part, line.text)
        self.assertEqual((line.text.count("\n"), len(line.out) <= 81), (1, True))
        self.assertIn(part, line.message)
        plug_in = doctor(*arguments, "--format", "line", "--exit-style", "nagios")
        self.assertEqual(plug_in.code, 3)
        self.assertTrue(plug_in.text.startswith("CUDART UNKNOWN - "), plug_in.text)
        gauges = doctor(*arguments, "--format=prometheus")
        self.assertEqual(gauges.code, code)
        self.assertIn('cudart_doctor_verdict{state="undecided"} 1\n', gauges.text)
        suite = doctor(*arguments, "--format", "junit")
        self.assertEqual(suite.code, code)
        error = ElementTree.fromstring(suite.out).find("testsuite/testcase/error")
        self.assertIn(part, error.get("message"))
        annotated = doctor(*arguments, "--github").message
        self.assertIn("\n::error title=cudart-doctor%3A no report::", annotated)

    def test_a_process_that_is_gone(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.check(3, f"no process with PID {child.pid}", "--pid", child.pid)

    def test_a_wrong_command_line(self):
        self.check(2, "--bogus", "--bogus")
        self.check(2, "--peer: name the process", "--peer", "1")

    def test_a_deadline(self):
        never = self.folder / "never"
        os.mkfifo(never)
        self.check(3, "no answer within the deadline", "--allow-file", never, "--timeout", "0.2")


support.main()
