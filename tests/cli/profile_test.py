"""--profile: lists of names of the user's own; `policies` and one of its rows."""
import json
import os
import re

import support
from support import Case, PYTHON, SOURCE, doctor, findings, selection

NAMES = ["cudaSetDevice", "cudaMalloc"]


class Profiles(Case):
    def profile(self, name="mine", **changes):
        document = {"id": name, "title": "My library", "names": NAMES, **changes}
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(document))
        return file

    def runtime_with(self, *names):
        """A library that calls itself the runtime of CUDA 12 and has these functions only."""
        (self.folder / "map").write_text("libcudart.so.12 { global: cuda*; local: *; };")
        code = "".join(f"int {name}(void) {{ return 0; }}\n" for name in names)
        return self.compile("libcudart.so.12", code, "-Wl,-soname,libcudart.so.12",
                            f"-Wl,--version-script={self.folder / 'map'}")

    def victim_with(self, *names):
        return self.victim(f"load({str(self.runtime_with(*names))!r})")

    def test_a_profile_that_is_met_gives_a_row_and_no_finding(self):
        victim = self.victim_with(*NAMES)
        report = self.report("--pid", victim.pid, "--profile",
                             self.profile(policy="dlopen:libcudart.so.12"))
        row = selection(report, "profile:mine")
        self.assertEqual((row["result"], row["bound_names"], row["title"]),
                         ("ok", 2, "My library"))
        self.assertNotIn("SY06", findings(report))

    def test_a_missing_name_is_an_error_and_is_told_in_text(self):
        victim = self.victim_with("cudaSetDevice")
        file = self.profile(policy="dlopen:libcudart.so.12")
        report = self.report("--pid", victim.pid, "--profile", file)
        self.assertEqual(selection(report, "profile:mine")["missing"], ["cudaMalloc"])
        self.assertEqual(findings(report)["SY06"], "error")
        self.assertEqual(report["verdict"]["exit_code"], 1)
        ended = doctor("--pid", victim.pid, "--profile", file)
        self.assertEqual(ended.code, 1)
        self.assertIn("SY06", ended.text)
        self.assertIn("undefined symbol: cudaMalloc", ended.text)
        self.assertLessEqual(max(map(len, ended.text.splitlines())), 80)

    def test_a_replay_checks_other_names_than_the_snapshot_was_asked_for(self):
        victim = self.victim_with("cudaSetDevice")
        folder = self.folder / "snap"
        self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", folder).code, 0)
        victim.end()
        report = self.report("--from", folder, "--profile",
                             self.profile(policy="dlopen:libcudart.so.12"))
        self.assertEqual(selection(report, "profile:mine")["missing"], ["cudaMalloc"])
        met = self.report("--from", folder, "--profile", self.profile(
            "other", policy="dlopen:libcudart.so.12", names=["cudaSetDevice"]))
        self.assertEqual(selection(met, "profile:other")["result"], "ok")

    def test_a_profile_is_listed_and_explained_by_its_id(self):
        file = self.profile(policy="dlopen:libcudart.so.12")
        listed = doctor("policies", "profile:mine", "--profile", file)
        self.assertEqual((listed.code, listed.message), (0, ""))
        self.assertTrue(listed.text.startswith("profile:mine  My library\n"), listed.text)
        self.assertEqual(listed.text.count("binds:"), 1)
        victim = self.victim_with(*NAMES)
        told = doctor("--pid", victim.pid, "--profile", file,
                      "--explain-selection", "profile:mine").text
        self.assertIn("HOW My library CHOOSES (rule profile:mine)", told)

    def test_a_profile_that_no_file_has_is_a_usage_error(self):
        file = self.profile()
        said = "no file of --profile has the id of 'profile:other'"
        self.assertIn(said, self.failure(2, "policies", "profile:other", "--profile", file))
        ended = doctor("--explain-selection", "profile:other", "--profile", file)
        self.assertEqual((ended.code, ended.out), (2, b""))
        self.assertIn(said, ended.message)
        self.assertIn("is a profile, which follows a rule",
                      self.failure(2, "--policy", "profile:mine", "--profile", file))

    def test_several_profiles_give_several_rows(self):
        victim = self.victim_with(*NAMES)
        report = self.report("--pid", victim.pid, "--profile", self.profile(), "--profile",
                             self.profile("two", names=["cudaFree"]))
        self.assertEqual([row["policy"] for row in report["selections"]][-2:],
                         ["profile:mine", "profile:two"])

    def test_wrong_files_are_usage_errors(self):
        self.assertIn("No such file", self.failure(2, "--profile", self.folder / "none.json"))
        self.assertIn("not a regular file", self.failure(2, "--profile", self.folder))
        self.assertIn("not a regular file", self.failure(2, "--profile", "/dev/zero"))
        broken = self.folder / "broken.json"
        broken.write_text("{")
        self.assertIn("no valid JSON", self.failure(2, "--profile", broken))
        large = self.folder / "large.json"
        large.write_bytes(b" " * ((1 << 20) + 1))
        self.assertIn("larger than 1 MiB", self.failure(2, "--profile", large))
        self.assertIn("unknown policy",
                      self.failure(2, "--profile", self.profile(policy="no-such")))
        self.assertIn("at most 4096", self.failure(
            2, "--profile", self.profile(names=[f"n{i}" for i in range(4097)])))
        same = self.profile()
        self.assertIn("another file has the id",
                      self.failure(2, "--profile", same, "--profile", same))
        self.assertEqual(doctor("policies", "--profile", broken).code, 2)

    def test_where_nothing_is_checked_a_profile_is_refused(self):
        file = self.profile()
        folder = self.folder / "snap"
        self.assertIn("when the snapshot is replayed", self.failure(
            2, "snapshot", "--pid", os.getpid(), "--dir", folder, "--profile", file))
        self.assertFalse(folder.exists())
        self.assertIn("that it is checked on", self.failure(2, "explain", "RT04", "--profile", file))

    def test_the_example_of_the_manual_is_a_profile(self):
        page = (SOURCE / "docs/policies.md").read_text()
        example = re.search(r"```json\n(.*?)```", page, re.DOTALL).group(1)
        file = self.folder / "example.json"
        file.write_text(example)
        listed = json.loads(doctor("policies", "--json", "--profile", file).out)["profiles"]
        wanted = json.loads(example)
        self.assertEqual([(row["id"], row["policy"], row["binds"]) for row in listed],
                         [(wanted["id"], wanted["policy"], wanted["names"])])


class Policies(Case):
    def test_an_unknown_rule_names_those_of_the_consumer(self):
        message = self.failure(2, "policies", "sglang")
        self.assertIn("near: ", message)
        self.assertIn("sglang-2026-07", message)
        self.assertIn("vllm-legacy", self.failure(2, "--policy", "vllm-legcy"))

    def test_the_list_fits_80_columns_and_names_what_is_no_row(self):
        text = doctor("policies").text
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn("Known, and no row:", text)
        document = json.loads(doctor("policies", "--json").out)
        rows = {row["id"] for row in document["policies"]}
        others = {each["id"] for each in document["not_modelled"]}
        self.assertIn("cuda-pathfinder", rows)
        self.assertIn("jax-plugin", others)
        self.assertFalse(rows & others)
        self.assertEqual(document["profiles"], [])

    def test_one_row_by_its_id_or_its_other_name(self):
        for name in ("flashinfer-2026-09", "scan-basename"):
            text = doctor("policies", name).text
            self.assertTrue(text.startswith("flashinfer-2026-09  "), text)
            self.assertEqual(text.count("vintage:"), 1)
        self.assertEqual(doctor("policies", "no-such").code, 2)


class Rows(Case):
    def test_rules_of_packages_that_are_not_here_do_not_apply(self):
        report = self.report("--pid", self.victim().pid, "--python", PYTHON)
        for name in ("flashinfer-jit-preload", "sglang-kernel-preload"):
            self.assertEqual(selection(report, name)["outcome"], "not_applicable")


support.main()
