"""`diff`: what changed between reports and snapshots, and which of several is the odd one out."""
import copy
import json
import os
import subprocess

import support
from support import Case, DOCTOR, clean_environment, doctor

AREAS = ["verdict", "findings", "runtimes", "order", "loads", "selections", "consumers", "driver",
         "environment", "probe", "namespaces"]


class Diff(Case):
    """Reports of a real process, and what may and may not be changed in them."""

    kept = None

    def setUp(self):
        super().setUp()
        if Diff.kept is None:
            library = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }",
                                   "-Wl,-soname,libcudart.so.12")
            stub = self.compile("libcudart_stub.so", "int cudaMalloc(void) { return 3; }")
            target = self.victim(f"load({str(library)!r})", f"load({str(stub)!r})",
                                 env=clean_environment(CUDA_VISIBLE_DEVICES="0"))
            Diff.kept = self.report("--pid", target.pid)
        self.good = self.write("good.json", Diff.kept)

    def changed(self):
        return copy.deepcopy(Diff.kept)

    def write(self, name, document):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def diff(self, *arguments, **options):
        """The JSON answer; the text has the same exit code and fits the terminal."""
        ended = doctor("diff", "--json", *arguments, **options)
        self.assertIn(ended.code, (0, 1), ended.message)
        answer = json.loads(ended.out)
        self.assertEqual(answer["exit_code"], ended.code)
        self.assertEqual(answer["equal"], ended.code == 0)
        self.assertEqual(doctor("diff", "--json", *arguments, **options).out, ended.out)
        text = doctor("diff", *arguments, **options)
        self.assertEqual((text.code, text.err), (ended.code, b""))
        for line in text.text.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.text = text.text
        return answer

    def changes(self, document):
        """What changes from the good report to `document`."""
        answer = self.diff(self.good, self.write("other.json", document))
        self.assertLessEqual(len(answer["differences"]), 1)
        return [change for pair in answer["differences"] for change in pair["changes"]]

    def only(self, document):
        found = self.changes(document)
        self.assertEqual(len(found), 1, found)
        return found[0]


class Same(Diff):
    def test_a_report_and_itself_are_one_line(self):
        answer = self.diff(self.good, self.good)
        self.assertEqual(len(answer["groups"]), 1)
        self.assertEqual(answer["differences"], [])
        self.assertRegex(self.text, r"\ANo difference between 2 reports: .*\n\Z")

    def test_what_changes_from_look_to_look_is_no_difference(self):
        other = self.changed()
        other["generated_at"] = "2031-01-01T00:00:00Z"
        other["host"]["name"] = "another"
        target = other["target"]
        target.update(pid=7, start_ticks=1, parent_pid=3, uid=5, title="another", threads=99)
        target["ns_pids"] = [7 for _ in target["ns_pids"]]
        for space in target["namespaces"]:
            space["inode"] += 1
        for each in other["runtimes"]:
            each["address"] = "0x1000"
            each["inode"] = 12
            each["device"] = "00:99"
            each["evidence"] = []
        for each in other["selections"]:
            each["steps"] = []
        self.assertEqual(self.changes(other), [])

    def test_references_are_names_within_a_report_only(self):
        other = self.changed()
        for each in other["runtimes"]:
            each["ref"] = "X" + each["ref"]
        for each in other["selections"]:
            if each["runtime"] is not None:
                each["runtime"] = "X" + each["runtime"]
        self.assertEqual(self.changes(other), [])

    def test_keys_of_a_later_release_are_passed_over(self):
        other = self.changed()
        other["later"] = {"deep": [1, None]}
        other["findings"] = [dict(each, later=1) for each in other["findings"]]
        self.assertEqual(self.changes(other), [])

    def test_a_snapshot_is_what_its_report_says(self):
        victim = self.victim()
        folder = self.folder / "snap"
        self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", folder).code, 0)
        report = self.write("snap.json", doctor("--json", "--from", folder).text)
        answer = self.diff(folder, report)
        self.assertEqual([each["replayed"] for each in answer["reports"]], [True, False])
        self.assertTrue(answer["equal"])

    def test_two_looks_at_a_quiet_process_are_equal(self):
        victim = self.victim()
        one = self.write("one.json", doctor("--json", "--pid", victim.pid).text)
        two = self.write("two.json", doctor("--json", "--pid", victim.pid).text)
        self.assertTrue(self.diff(one, two)["equal"])


class Changed(Diff):
    def test_findings_come_go_and_change_severity(self):
        other = self.changed()
        gone = other["findings"].pop()
        found = self.only(other)
        self.assertEqual((found["area"], found["kind"]), ("findings", "removed"))
        self.assertTrue(found["subject"].startswith(gone["id"]))
        self.assertIn(" gone ", self.text)
        other["findings"].append(dict(gone, id="DR13", slug="device-miscomputes"))
        kinds = [each["kind"] for each in self.changes(other)]
        self.assertEqual(kinds, ["removed", "added"])
        other = self.changed()
        other["findings"][-1]["severity"] = "critical"
        found = self.only(other)
        self.assertEqual((found["kind"], found["attribute"], found["after"]),
                         ("changed", "severity", "critical"))

    def test_a_finding_of_an_upgraded_consumer_is_the_same_finding(self):
        one, two = self.changed(), self.changed()
        one["findings"][0]["consumer"] = "FlashInfer 0.6.16"
        two["findings"][0]["consumer"] = "FlashInfer 0.6.17"
        answer = self.diff(self.write("1", one), self.write("2", two))
        [change] = answer["differences"][0]["changes"]
        self.assertEqual((change["kind"], change["attribute"]), ("changed", "consumer"))

    def test_the_order_of_findings_is_none(self):
        other = self.changed()
        other["findings"].reverse()
        self.assertEqual(self.changes(other), [])

    def test_a_worse_verdict_is_said_first(self):
        other = self.changed()
        other["verdict"]["worst"] = "critical"
        one = self.changed()
        one["verdict"]["worst"] = None
        answer = self.diff(self.write("1", one), self.write("2", other))
        self.assertEqual(answer["differences"][0]["changes"][0]["area"], "verdict")
        self.assertTrue(self.text.startswith(
            "B differs from A: worse, critical instead of no finding"), self.text)

    def test_the_exit_code_follows_fail_on_and_is_no_difference(self):
        other = self.changed()
        other["verdict"].update(fail_on="critical", exit_code=0)
        self.assertEqual(self.changes(other), [])

    def test_a_runtime_is_known_by_its_build_id_wherever_it_lies(self):
        other = self.changed()
        runtime = other["runtimes"][0]
        self.assertIsNotNone(runtime["build_id"])
        runtime["path"] = "/elsewhere/" + os.path.basename(runtime["path"])
        self.assertEqual({(each["area"], each["kind"], each["attribute"])
                          for each in self.changes(other) if each["area"] == "runtimes"},
                         {("runtimes", "changed", "path")})

    def test_another_build_at_one_path_is_a_changed_runtime(self):
        other = self.changed()
        other["runtimes"][0]["build_id"] = "00" * 20
        found = self.changes(other)
        self.assertEqual({each["kind"] for each in found}, {"changed"})
        self.assertIn("build-id", {each["attribute"] for each in found})

    def test_a_deleted_file_is_a_difference(self):
        other = self.changed()
        other["runtimes"][0]["state"] = "deleted"
        found = self.only(other)
        self.assertEqual((found["attribute"], found["before"], found["after"]),
                         ("file", "same", "deleted"))

    def test_another_order_of_addresses_is_a_difference(self):
        other = self.changed()
        other["runtimes"][:2] = other["runtimes"][1::-1]
        found = self.only(other)
        self.assertEqual((found["area"], found["kind"]), ("order", "changed"))
        self.assertNotEqual(found["before"], found["after"])

    def test_a_runtime_more_is_no_new_order(self):
        other = self.changed()
        more = dict(other["runtimes"][0], ref="Z", path="/more/libcudart.so.13", build_id="77")
        other["runtimes"].insert(1, more)
        found = self.only(other)
        self.assertEqual((found["area"], found["kind"]), ("runtimes", "added"))

    def test_who_takes_what_is_told_by_the_runtimes_path(self):
        other = self.changed()
        row = next(each for each in other["selections"]
                   if each["presence"] != "absent" and each["runtime"] is not None)
        row["runtime"] = next(each["ref"] for each in other["runtimes"]
                              if each["ref"] != row["runtime"])
        found = self.only(other)
        self.assertEqual((found["area"], found["attribute"]), ("selections", "takes"))
        self.assertTrue(found["after"].startswith("/"))

    def test_what_an_absent_consumer_would_take_does_not_count(self):
        one, two = self.changed(), self.changed()
        for each, outcome in ((one, "none"), (two, "multiple")):
            each["selections"][0].update(presence="absent", outcome=outcome)
        self.assertTrue(self.diff(self.write("1", one), self.write("2", two))["equal"])

    def test_consumers_driver_probe_and_variables_count(self):
        def edit(area, change):
            other = self.changed()
            change(other)
            self.assertEqual([each["area"] for each in self.changes(other)], [area], area)

        edit("consumers", lambda r: r["consumers"][0].update(version="9.9", version_reason=None))
        edit("driver", lambda r: r["host"].update(kernel_module="1.2", kernel_module_reason=None))
        edit("probe", lambda r: r["probe"]["verdict"].update(code=304, code_name="x"))
        edit("environment", lambda r: r["environment"]["variables"].append(
            {"name": "LD_PRELOAD", "value": "/x.so", "value_reason": None}))
        edit("namespaces", lambda r: r["target"]["namespaces"][0].update(
            shared_with_doctor=not r["target"]["namespaces"][0]["shared_with_doctor"]))
        edit("namespaces", lambda r: r["target"]["ns_pids"].append(1))


class Words(Diff):
    """What the text says; the JSON keeps the report's own words."""

    def flat(self):
        return " ".join(self.text.split())

    def no_internal_words(self):
        for word in ("none -> none", "order_dependent", "not_by_address", "not_applicable",
                     "not_found", "unexpected_filename", "not_run", "does_not"):
            self.assertNotIn(word, self.text)

    def test_of_a_consumer_that_was_absent_only_that_it_is_here_is_told(self):
        one, two = self.changed(), self.changed()
        one["selections"][0].update(presence="absent", outcome="none", chosen=None, runtime=None)
        two["selections"][0].update(presence="present", outcome="selected", chosen="/tmp/x.so",
                                    runtime=None, stability="order_dependent")
        [pair] = self.diff(self.write("1", one), self.write("2", two))["differences"]
        self.assertEqual([each["attribute"] for each in pair["changes"]], ["presence"])
        self.assertIn(": was not here, is here now", self.flat())
        self.no_internal_words()

    def test_values_are_told_in_the_words_of_the_report(self):
        one, two = self.changed(), self.changed()
        one["selections"][0].update(presence="present", outcome="not_found", chosen="x.so",
                                    runtime=None, disk_path=None, stability="not_by_address")
        two["selections"][0].update(presence="present", outcome="not_applicable", chosen="x.so",
                                    runtime=None, disk_path="/lib/x.so",
                                    stability="order_dependent")
        [pair] = self.diff(self.write("1", one), self.write("2", two))["differences"]
        takes = next(each for each in pair["changes"] if each["attribute"] == "takes")
        self.assertEqual((takes["before"], takes["after"]), ("none", "/lib/x.so"))
        self.assertIn("not by address -> another in another order of addresses", self.flat())
        self.no_internal_words()

    def test_a_runtime_that_is_no_longer_loaded_is_told_in_one_phrase(self):
        other = self.changed()
        other["runtimes"][0].update(loaded=False, mapped=False, state=None)
        self.changes(other)
        self.assertIn("was loaded, is only on disk now", self.flat())
        self.assertNotIn("not mapped", self.text)

    def test_a_replaced_or_deleted_file_is_told_so(self):
        for state in ("replaced", "deleted"):
            other = self.changed()
            other["runtimes"][0]["state"] = state
            self.only(other)
            self.assertIn("its file unchanged -> " + state.upper(), self.flat())
        more = self.changed()
        more["runtimes"].append(dict(more["runtimes"][0], ref="Z", build_id="77", state="deleted",
                                     path="/more/libcudart.so.13"))
        self.changes(more)
        self.assertRegex(self.flat(), r"new libcudart\.so\.13[^:]*, DELETED: /more")

    def test_another_runtime_of_the_headlines_rule_is_told_apart(self):
        one, two = self.changed(), self.changed()
        for each, path in ((one, "/a/x.so"), (two, "/b/x.so")):
            row = next(row for row in each["selections"]
                       if row["policy"] == each["headline"]["policy"])
            row.update(presence="present", outcome="selected", runtime=None, disk_path=path)
        self.diff(self.write("1", one), self.write("2", two))
        self.assertRegex(self.flat(), r"TAKES the headline's rule, [^:]*: /a/x\.so -> /b/x\.so")

    def test_what_is_ignored_and_not_there_is_told(self):
        answer = self.diff(self.good, self.good, "--ignore", "findings:nope", "--ignore", "order")
        self.assertEqual(answer["ignored_nothing"], ["findings:nope"])
        self.assertIn("--ignore findings:nope: in none of the reports", self.flat())


class Unknown(Diff):
    def test_an_unread_environment_is_not_an_empty_one(self):
        other = self.changed()
        other.update(environment=None, environment_reason="permission denied")
        found = self.only(other)
        self.assertEqual((found["area"], found["kind"], found["after"], found["after_reason"]),
                         ("environment", "not_compared", None, "permission denied"))
        self.assertNotIn("gone", self.text)
        self.assertIn("permission denied", self.text)

    def test_what_neither_knows_is_no_difference_but_is_said(self):
        one, two = self.changed(), self.changed()
        for each, why in ((one, "one reason"), (two, "another")):
            each.update(environment=None, environment_reason=why)
        self.assertTrue(self.diff(self.write("1", one), self.write("2", two))["equal"])
        self.assertIn("B: environment not known (another)", self.text)

    def test_an_unknown_version_is_not_no_version(self):
        one, two = self.changed(), self.changed()
        one["consumers"][0].update(version=None, version_reason="not read")
        two["consumers"][0].update(version=None, version_reason=None)
        answer = self.diff(self.write("1", one), self.write("2", two))
        [change] = answer["differences"][0]["changes"]
        self.assertEqual((change["before"], change["before_reason"]), (None, "not read"))
        self.assertEqual((change["after"], change["after_reason"]), ("none", None))

    def test_a_report_with_unread_objects_says_so(self):
        other = self.changed()
        other["runtimes"].pop()
        other["capture"]["unread"] = ["/x.so: permission denied"]
        self.changes(other)
        self.assertIn("B: 1 object could not be read; what is not there may only be unread",
                      " ".join(self.text.split()))


class Several(Diff):
    def rank(self, number, change=None):
        document = self.changed()
        document["target"].update(pid=4120 + number, title=f"sglang::scheduler_TP{number}")
        if change:
            change(document)
        return self.write(f"rank{number}.json", document)

    def test_the_odd_one_is_named_first(self):
        ranks = [self.rank(0), self.rank(1),
                 self.rank(2, lambda r: r["findings"][0].update(severity="critical")), self.rank(3)]
        answer = self.diff(*ranks)
        self.assertEqual([each["reports"] for each in answer["groups"]], [["A", "B", "D"], ["C"]])
        self.assertEqual(answer["majority"], 0)
        self.assertEqual([(each["from"], each["to"]) for each in answer["differences"]],
                         [("A", "C")])
        first = " ".join(self.text.split())
        self.assertTrue(first.startswith("3 of 4 agree; C ("), first)
        self.assertIn("rank2.json, pid 4122 sglang::scheduler_TP2) differs:", first)

    def test_equal_reports_have_equal_fingerprints_in_every_comparison(self):
        odd = self.rank(2, lambda r: r["findings"][0].update(severity="critical"))
        first = self.diff(self.rank(0), odd)["groups"]
        second = self.diff(odd, self.rank(1), self.rank(3))["groups"]
        self.assertEqual({each["fingerprint"] for each in first},
                         {each["fingerprint"] for each in second})

    def test_without_a_majority_the_groups_are_listed(self):
        ranks = [self.rank(0), self.rank(1, lambda r: r["findings"].pop()),
                 self.rank(2, lambda r: r["findings"][0].update(severity="critical"))]
        answer = self.diff(*ranks)
        self.assertIsNone(answer["majority"])
        self.assertEqual(len(answer["groups"]), 3)
        self.assertTrue(self.text.startswith("3 reports, 3 different ones, no majority\n"))
        answer = self.diff(ranks[0], ranks[0], ranks[1], ranks[1])
        self.assertIsNone(answer["majority"], "two of four are no majority")

    def test_each_kind_of_odd_one_has_its_own_differences(self):
        ranks = [self.rank(0), self.rank(1, lambda r: r["findings"].pop()), self.rank(2),
                 self.rank(3, lambda r: r["findings"][0].update(severity="critical")),
                 self.rank(4)]
        answer = self.diff(*ranks)
        self.assertEqual([each["to"] for each in answer["differences"]], ["B", "D"])
        self.assertTrue(self.text.startswith("3 of 5 agree; B, D differ\n"), self.text)
        self.assertIn("\nB differs from A, C, E: ", self.text)
        self.assertIn("\nD differs from A, C, E: ", self.text)

    def test_of_a_fleet_only_the_first_names_are_listed(self):
        odd = self.rank(1, lambda r: r["findings"].pop())
        answer = self.diff(*[self.rank(0)] * 140, *[odd] * 60)
        self.assertEqual([len(each["reports"]) for each in answer["groups"]], [140, 60])
        self.assertLessEqual(self.text.count("\n"), 45)
        self.assertTrue(self.text.startswith("140 of 200 agree; EK, EL, EM, EN and 56 more differ"),
                        self.text)

    def test_more_than_4096_reports_are_refused(self):
        self.assertEqual(doctor("diff", *[self.good] * 4097).code, 2)

    def test_all_alike_is_one_line(self):
        self.assertTrue(self.diff(*[self.rank(n) for n in range(4)])["equal"])
        self.assertEqual(self.text.count("\n"), 1)

    def test_what_is_expected_to_differ_can_be_left_out(self):
        def card(number):
            def change(report):
                report["environment"]["variables"] = [
                    {"name": "CUDA_VISIBLE_DEVICES", "value": str(number), "value_reason": None}]
            return change

        ranks = [self.rank(n, card(n)) for n in range(3)]
        hint = self.diff(*ranks)["hint"]
        self.assertEqual(hint, {"ignore": ["environment:CUDA_VISIBLE_DEVICES"],
                                "reports": ["A", "B", "C"]})
        self.assertIn("HINT     only environment:CUDA_VISIBLE_DEVICES separates them: --ignore",
                      self.text)
        odd = self.rank(3, lambda r: (card(3)(r), r["findings"].pop()))
        self.assertEqual(self.diff(*ranks, odd)["hint"]["reports"], ["A", "B", "C"])
        self.assertIn("separates A, B, C: --ignore", self.text)
        self.assertIsNone(self.diff(ranks[0], ranks[0], ranks[0])["hint"])
        self.assertIsNone(self.diff(*ranks[:2])["hint"], "two reports have no majority")
        self.assertTrue(self.diff(*ranks, "--ignore", "environment:CUDA_VISIBLE_DEVICES")["equal"])
        self.assertTrue(self.diff(*ranks, "--ignore", "environment")["equal"])
        self.assertFalse(self.diff(*ranks, "--ignore", "environment:LD_PRELOAD",
                                   "--ignore", "order")["equal"])


class Input(Diff):
    def refused(self, *arguments, **options):
        return self.failure(2, "diff", *arguments, **options)

    def test_unusable_documents_are_usage_errors(self):
        version = self.changed()
        version["schema_version"] = 2
        failure = doctor("--json", "--pid", "0").text
        missing = self.changed()
        del missing["verdict"]["worst"]
        wrong = self.changed()
        wrong["findings"] = {"id": "RT04"}
        inner = self.changed()
        inner["runtimes"] = [17]
        for text, word in (
                ("", "empty"), ("{", "no JSON"), ("[1, 2", "no JSON"), ("\xff", "no JSON"),
                ("[]", "no report of cudart-doctor"), ("{}", "no report of cudart-doctor"),
                ("null", "no report"), (version, "schema version 2 is not 1"),
                (failure, "ended without a report"),
                (doctor("policies", "--json").text, "no report"),
                (missing, "'worst' is missing"), (wrong, "'findings' is no list"),
                (inner, "is missing"), ("[" * 100, "nested deeper than 32"),
                ('{"steps": ' + "[" * 100, "nested deeper than 32"), ('{"steps": [1}', "no JSON"),
                ("[" + "0," * 1_000_001 + "0]", "more than a million values"),
                ('{"steps": [' + "0," * 1_000_001 + "0]}", "more than a million values"),
                (" " * ((16 << 20) + 1), "larger than 16 MiB")):
            path = self.write("bad.json", text)
            if text == "\xff":
                path.write_bytes(b'"\xff"')
            with self.subTest(word=word, text=str(text)[:20]):
                message = self.refused(self.good, path)
                self.assertIn(word, message)
                self.assertIn("bad.json", message)

    def test_of_many_unusable_reports_the_first_is_named(self):
        names = []
        for i in range(40):
            names.append(self.folder / f"{i}.json")
            if i < 20:
                names[-1].write_bytes(self.good.read_bytes())
        for _ in range(10):
            self.assertIn("/20.json", self.refused(*names))

    def test_unusable_places_are_usage_errors(self):
        self.assertIn("No such file", self.refused(self.good, self.folder / "none"))
        (self.folder / "empty").mkdir()
        self.assertIn("empty/snapshot.json", self.refused(self.good, self.folder / "empty"))
        self.assertIn("larger than 16 MiB", self.refused(self.good, "/dev/zero"))

    def test_stdin_is_taken_once(self):
        def run(*arguments):
            return subprocess.run([DOCTOR, "diff", *arguments], capture_output=True, timeout=30,
                                  input=self.good.read_bytes(), env=clean_environment())

        self.assertEqual(run("-", self.good).returncode, 0)
        self.assertEqual(run(self.good, "-").returncode, 0)
        twice = run("-", "-")
        self.assertEqual(twice.returncode, 2)
        self.assertIn(b"once", twice.stderr)

    def test_a_pipe_is_read_like_a_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        writer = subprocess.Popen(["cat", self.good], stdout=os.open(pipe, os.O_RDWR))
        self.addCleanup(writer.wait)
        done = doctor("diff", self.good, pipe, "--timeout", "0.5")
        # The pipe has a writer left, so it never ends: what waits is ended by the deadline.
        self.assertEqual(done.code, 3)
        shell = subprocess.run(
            ["bash", "-c", '"$0" diff "$1" <(cat "$1")', DOCTOR, self.good],
            capture_output=True, timeout=30, env=clean_environment())
        self.assertEqual((shell.returncode, shell.stderr), (0, b""))

    def test_options_of_an_inspection_are_refused(self):
        for options in (["--pid", "1"], ["--port", "1"], ["--from", "x"], ["--load", "x"],
                        ["--probe", "on"], ["--deep"], ["--fail-on", "info"],
                        ["--policy", "flashinfer-2026-09"], ["--devices", "0"]):
            with self.subTest(options=options):
                self.assertIn("diff: " + options[0], self.refused(self.good, self.good, *options))

    def test_the_exit_code_is_of_the_style_asked_for(self):
        other = self.changed()
        other["findings"].pop()
        other = self.write("other.json", other)
        for style, same, differs, wrong in (("default", 0, 1, 2), ("nagios", 0, 2, 3),
                                            ("npd", 0, 1, 2), ("always-zero", 0, 0, 0)):
            with self.subTest(style=style):
                style = ("--exit-style", style)
                self.assertEqual(doctor("diff", self.good, self.good, *style).code, same)
                ended = doctor("diff", "--json", self.good, other, *style)
                self.assertEqual((ended.code, json.loads(ended.out)["exit_code"]),
                                 (differs, differs))
                self.assertEqual(doctor("diff", self.good, self.folder, *style).code, wrong)

    def test_a_slip_is_a_usage_error(self):
        self.assertEqual(doctor("diff").code, 2)
        self.assertEqual(doctor("diff", self.good).code, 2)
        self.assertIn("names no area; the areas are " + ", ".join(AREAS),
                      self.refused(self.good, self.good, "--ignore", "weather"))
        self.refused(self.good, self.good, "--ignore", "order:")

    def test_hostile_texts_reach_no_terminal(self):
        other = self.changed()
        nasty = "\x1b[31m\u202e\u0085 \r\n\x00x"
        other["findings"].append(dict(other["findings"][0], id=nasty, headline=nasty,
                                      consumer=nasty, severity=nasty))
        other["target"]["title"] = other["host"]["name"] = nasty
        other["headline"]["sentence"] = other["tool"]["version"] = nasty
        other["environment"]["variables"] = [
            {"name": nasty, "value": nasty * 1000, "value_reason": nasty}]
        other["capture"]["unread"] = [nasty]
        for each in other["runtimes"] + other["selections"]:
            each.update({key: nasty for key in ("path", "kind", "policy", "title", "chosen")
                         if key in each})
        self.changes(other)
        for form in ((), ("-v",), ("--json",)):
            out = doctor("diff", *form, self.good, self.folder / "other.json").text
            for byte in ("\x1b", "\u202e", "\x85", "\r", "\x00"):
                self.assertNotIn(byte, out)

    def test_the_text_of_a_big_difference_is_short(self):
        other = self.changed()
        other["findings"] += [dict(other["findings"][0], consumer=f"consumer {n}")
                              for n in range(500)]
        self.changes(other)
        self.assertLessEqual(self.text.count("\n"), 45)
        self.assertIn("492 more with -v", self.text)


support.main()
