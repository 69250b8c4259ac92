"""A snapshot that holds what a command loaded: its report, its copy without names, its differences."""
import json
import shutil

import support
from support import Case, SOURCE, doctor

GOLDEN = SOURCE / "tests/golden"
STUB = "libcudart_stub.so"
REAL = "libcudart.so.12"


class Recorded(Case):
    """The bundle of a real process with a stub in it, and the recording of its command."""

    def bundle(self, name, change=lambda recording: None):
        folder = self.folder / name
        shutil.copytree(GOLDEN / "stub_first", folder)
        file = folder / "snapshot.json"
        document = json.loads(file.read_text())
        recording = json.loads((GOLDEN / "run_stub.recording.json").read_text())
        change(recording)
        document["recording"] = {"known": recording}
        file.write_text(json.dumps(document))
        return folder

    def run_of(self, folder, *arguments):
        return self.report("--from", folder, *arguments)["run"]

    def changes(self, one, two):
        ended = doctor("diff", "--json", one, two)
        self.assertIn(ended.code, (0, 1), ended.message)
        found = [change for pair in json.loads(ended.out)["differences"]
                 for change in pair["changes"]]
        self.text = doctor("diff", one, two).text
        return found


class Report(Recorded):
    def test_each_event_has_its_runtime(self):
        report = self.report("--from", self.bundle("one"))
        paths = {runtime["ref"]: runtime["path"] for runtime in report["runtimes"]}
        events = report["run"]["events"]
        self.assertEqual([paths[event["runtime"]] for event in events],
                         [event["path"] for event in events])
        self.assertEqual(report["run"]["story"]["object"], events[1]["path"])

    def test_a_secret_of_the_command_line_is_not_in_it(self):
        folder = self.bundle("one")
        for form in ([], ["-v"], ["--json"], ["--format", "html"], ["--format", "markdown"],
                     ["--format", "junit"]):
            self.assertNotIn("sesame", doctor("--from", folder, *form).text, form)

    def test_every_format_is_the_same_twice(self):
        folder = self.bundle("one")
        for form in ([], ["-v"], ["--json"], ["--format", "html"], ["--format", "markdown"]):
            self.assertEqual(doctor("--from", folder, *form).out,
                             doctor("--from", folder, *form).out)

    def test_names_in_python_paths_and_command_lines_get_stand_ins(self):
        def change(recording):
            recording["command"] += ["--host", "node-9", "/home/zoe/serve.py"]
            recording["events"][1]["python"][0]["file"] = "/home/zoe/tilelang/__init__.py"
            recording["processes"][1]["command_line"] = ["/home/yan/worker.py"]
        folder = self.bundle("one", change)
        for form in (["-v"], ["--json"]):
            self.assertIn("zoe", doctor("--from", folder, *form).text)
            clean = doctor("--from", folder, "--redact", *form).text
            for name in ("zoe", "yan", "node-9"):
                self.assertNotIn(name, clean)
            self.assertIn("user-1", clean)

    def test_a_recording_that_lies_about_its_keys_is_refused_by_name(self):
        def change(recording):
            recording["events"][0]["cause"] = "magic"
        ended = doctor("--from", self.bundle("one", change))
        self.assertEqual(ended.code, 2)
        self.assertIn("recording.events.0.cause has an unknown value", ended.message)


class Difference(Recorded):
    def test_the_same_recording_at_other_times_is_no_difference(self):
        def change(recording):
            recording["started_at"] = "2031-01-01T00:00:00Z"
            recording["duration"] *= 2
            for event in recording["events"]:
                event["nanoseconds"] += 5_000_000
                event["tid"] += 1
        self.assertEqual(self.changes(self.bundle("one"), self.bundle("two", change)), [])

    def test_a_load_that_is_gone_or_new_is_told_with_who_asked(self):
        one, two = self.bundle("one"), self.bundle("two", lambda r: r["events"].pop(1))
        gone, = self.changes(one, two)
        self.assertEqual((gone["area"], gone["kind"], gone["subject"]), ("loads", "removed", STUB))
        self.assertIn(f"gone {STUB}: dlopened at tilelang:131, after {REAL}", self.text)
        new, = self.changes(two, one)
        self.assertEqual((new["area"], new["kind"]), ("loads", "added"))

    def test_another_order_and_another_place_are_told(self):
        def earlier(recording):
            recording["events"].reverse()
        found = self.changes(self.bundle("one"), self.bundle("two", earlier))
        self.assertEqual({(change["subject"], change["attribute"]) for change in found},
                         {(STUB, "loaded")})
        self.assertIn(f"after {REAL}", self.text)
        self.assertIn(f"before {REAL}", " ".join(self.text.split()))

        def place(recording):
            recording["events"][1]["python"][2]["line"] = 99
        found = self.changes(self.bundle("three"), self.bundle("four", place))
        self.assertEqual([change["attribute"] for change in found], ["for"])

    def test_places_of_the_program_itself_are_told_by_its_file(self):
        def program(recording):
            for frame in recording["events"][1]["python"]:
                frame["module"], frame["file"] = "__main__", "/srv/serve.py"
        found = self.changes(self.bundle("one"), self.bundle("two", program))
        self.assertIn(STUB, {change["subject"] for change in found})
        self.assertNotIn("__main__", self.text)
        self.assertIn("dlopened at serve.py:131", self.text)
        self.assertNotIn("loaded dlopened", " ".join(self.text.split()))

    def test_against_a_report_without_a_recording_loads_are_not_compared(self):
        self.assertEqual(self.changes(self.bundle("one"), GOLDEN / "stub_first"), [])
        self.assertIn("loads not compared", self.text)
        ended = doctor("diff", self.bundle("two"), GOLDEN / "stub_first")
        self.assertEqual(ended.code, 0)

    def test_reports_from_before_recordings_are_read_and_equal_those_without_one(self):
        report = self.report("--from", GOLDEN / "stub_first")
        del report["run"], report["run_reason"]
        old = self.folder / "old.json"
        old.write_text(json.dumps(report))
        self.assertEqual(self.changes(old, GOLDEN / "stub_first"), [])
        self.assertNotIn("loads", self.text)


support.main()
