"""--allow and --allow-file: what is allowed is shown, does not count, and ends on its day."""
import os
import re
import subprocess
import sys

import support
from support import Case, DOCTOR, clean_environment, doctor


class Allow(Case):
    def setUp(self):
        super().setUp()
        path = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        victim = self.victim(f"load({str(path)!r})")
        path.unlink()
        self.snapshot = self.folder / "snapshot"
        self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", self.snapshot).code, 0)
        report = self.replay()
        self.plain = report["findings"]
        self.first = self.plain[0]["id"]
        self.day = report["generated_at"][:10]
        self.assertEqual(report["verdict"]["exit_code"], 1)

    def run_text(self, *arguments):
        return doctor("--from", self.snapshot, "--fail-on", "warning", *arguments)

    def replay(self, *arguments):
        return self.report("--from", self.snapshot, "--fail-on", "warning", *arguments)

    def everything(self, until=""):
        return [part for id in sorted({finding["id"] for finding in self.plain})
                for part in ("--allow", id + until)]

    def test_allowed_findings_are_shown_and_do_not_count(self):
        report = self.replay(*self.everything())
        self.assertEqual(report["verdict"]["exit_code"], 0)
        self.assertIsNone(report["verdict"]["worst"])
        self.assertEqual({f["id"]: f["allowed"] for f in report["findings"]},
                         {f["id"]: f"--allow {f['id']}" for f in self.plain})
        ended = self.run_text(*self.everything())
        self.assertTrue(ended.text.startswith("OK  "), ended.text)
        self.assertIn("\nALLOWED: ", ended.text)
        for finding in self.plain:
            self.assertIn(f" {finding['severity'].upper()} {finding['id']}  ", ended.text)
            self.assertIn(f"\n         allowed: --allow {finding['id']}\n", ended.text)
        self.assertIn(f"\nEXIT 0   {len(self.plain)} allowed; none at or above", ended.text)
        self.assertEqual([line for line in ended.text.splitlines() if len(line) > 80], [])

    def test_the_next_finding_leads_where_the_worst_is_allowed(self):
        by_slug = self.plain[0]["slug"]
        report = self.replay("--allow", by_slug)
        rest = [finding for finding in self.plain if finding["id"] != self.first]
        self.assertEqual([f["id"] for f in report["findings"] if f["allowed"] is None],
                         [finding["id"] for finding in rest])
        self.assertEqual(report["verdict"]["worst"], rest[0]["severity"] if rest else None)
        self.assertNotIn(f" {self.first} ", self.run_text("--allow", by_slug, "--format",
                                                           "line").text)

    def test_the_last_day_is_compared_with_the_snapshots_not_with_today(self):
        report = self.replay(*self.everything(f":until={self.day}"))
        self.assertEqual(report["verdict"]["exit_code"], 0)
        self.assertEqual(report["findings"][0]["allowed"][-16:], f"until {self.day}")
        text = (self.snapshot / "snapshot.json").read_text()
        (self.snapshot / "snapshot.json").write_text(
            re.sub(rf"{self.day}(T\d\d:\d\d:\d\dZ)", r"2019-12-31\1", text))
        self.assertEqual(self.replay(*self.everything(":until=2019-12-31"))["verdict"]["exit_code"],
                         0)

    def test_an_allowance_that_ended_counts_again_and_it_is_said(self):
        report = self.replay("--allow", f"{self.first}:until=2020-01-01")
        self.assertEqual(report["verdict"]["exit_code"], 1)
        self.assertEqual(report["verdict"]["ended_allowances"],
                         [f"--allow {self.first} ended 2020-01-01"])
        self.assertIn(f"\nALLOW    --allow {self.first} ended 2020-01-01\n",
                      self.run_text("--allow", f"{self.first}:until=2020-01-01").text)

    def test_the_same_bytes_every_time(self):
        for form in ("text", "json", "line", "prometheus", "junit"):
            one, two = (self.run_text(*self.everything(), "--format", form).out for _ in range(2))
            self.assertEqual(one, two)

    def test_a_file_does_the_same_and_is_named(self):
        allowed = self.folder / "allow.txt"
        allowed.write_text("# known\n\n" + "".join(
            f"{id}  # since June\n" for id in sorted({f["id"] for f in self.plain})))
        report = self.replay("--allow-file", allowed)
        self.assertEqual(report["verdict"]["exit_code"], 0)
        self.assertIn(f"allow.txt line 3: {sorted({f['id'] for f in self.plain})[0]}",
                      {f["allowed"] for f in report["findings"]})
        piped = subprocess.run(
            ["bash", "-c", f'"{DOCTOR}" --from "{self.snapshot}" --fail-on warning '
             f'--allow-file <(cat "{allowed}")'], env=clean_environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=30)
        self.assertEqual((piped.returncode, piped.stderr), (0, b""))

    @support.native
    def test_a_pipe_is_heard_by_every_command_that_judges(self):
        """It can be read once only, whoever tries first whether it answers."""
        stub = support.fixture(self, "tilelang-0.1.11", "tilelang/lib/libcudart_stub.so")
        process = self.victim(f"load({str(stub)!r})")
        load = [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(stub)!r})"]
        for command, rest in ((["--pid", process.pid, "--probe", "off"], []), (["tree", "--pid", process.pid], []),
                              (["run", "--judge-exit"], ["--", *load])):
            with self.subTest(command):
                found, allowed = [self.piped(text, [*command, "--fail-on", "warning"], rest)
                                  for text in ("# nothing\n", "RT03\nRT06\nRT07\n")]
                self.assertEqual((found.returncode, allowed.returncode), (1, 0), allowed.stderr)
                self.assertIn(b"RT03", allowed.stdout + allowed.stderr)

    def piped(self, text, command, rest):
        read, write = os.pipe()
        os.write(write, text.encode())
        os.close(write)
        try:
            return subprocess.run(list(map(str, [DOCTOR, *command, "--allow-file", f"/dev/fd/{read}", *rest])), pass_fds=[read],
                                  env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        finally:
            os.close(read)

    def test_what_is_no_allowance_is_a_usage_error(self):
        for text, part in (("RT99", "'RT99' is no finding"), ("", "'' is no finding"),
                           ("RT06:until=soon", "until=soon"), ("RT06:", "no end of an allowance"),
                           ("RT06:until=2026-02-30", "2026-02-30"), ("700", "'700' is no")):
            with self.subTest(text):
                self.assertIn(part, self.failure(2, "--allow", text))

    def test_a_file_that_is_wrong_is_named_with_the_line(self):
        wrong = self.folder / "wrong.txt"
        wrong.write_text("RT06\n\nRT6 # slip\n")
        self.assertIn("wrong.txt line 3: 'RT6' is no finding",
                      self.failure(2, "--from", self.snapshot, "--allow-file", wrong))
        wrong.write_bytes(b"\x1b[31m\xff\0\n")
        self.assertIn("wrong.txt line 1: '\\x1b[31m\\xff",
                      self.failure(2, "--from", self.snapshot, "--allow-file", wrong))
        for path, part in ((self.folder / "none", "No such file"), (self.folder, "Is a directory"),
                           ("/dev/zero", "longer than")):
            with self.subTest(path):
                self.assertIn(part, self.failure(2, "--from", self.snapshot, "--allow-file", path))

    def test_what_allowed_nothing_is_noted_in_the_log(self):
        self.assertEqual(self.run_text("--allow", "DR13").err, b"")
        ended = self.run_text("--allow", "DR13", "--allow", self.first, "--log-level", "info")
        self.assertIn("info: allowed, but not found: --allow DR13\n", ended.message)
        self.assertNotIn(self.first, ended.message)

    def test_a_snapshot_does_not_hold_what_is_allowed(self):
        victim = self.victim()
        texts = []
        for name, options in (("with", ["--allow", "RT01"]), ("without", [])):
            folder = self.folder / name
            self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", folder,
                                    *options).code, 0)
            texts.append(re.sub(r"\d{4}-\d\d-\d\dT[\d:]{8}Z", "TIME",
                                (folder / "snapshot.json").read_text()))
        self.assertEqual(*texts)


support.main()
