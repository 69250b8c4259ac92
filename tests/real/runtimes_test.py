"""Real runtimes in every state that a running server can have them in: what the report says of
them, and whether each scanning rule's answer is what the consumer's own code does there."""
import os
import shutil
import subprocess

import support
from support import Case, by_path, findings, fixture, selection
from consumer_code import ask_consumers

NOT_LOADED = "libcudart is not loaded in the current process"
# An installed runtime of another major (this machine's toolkit) is no matter of these tests.
ABOUT_MAPPED = {"MP01", "MP02", "MP03", "MP06", "RT01", "RT02", "RT03", "RT05", "RT08"}


class Runtimes(Case):
    def look(self, victim, expected_findings, path, **facts):
        """Checks the one runtime at `path`, the findings about mapped ones, and all scans."""
        report = self.report("--pid", victim.pid)
        runtime = by_path(report, path)
        for key, value in facts.items():
            self.assertEqual(runtime[key], value, key)
        found = {name: level for name, level in findings(report).items() if name in ABOUT_MAPPED}
        self.assertEqual(found, expected_findings)
        self.compare_with_consumers(report, victim)
        return report

    def compare_with_consumers(self, report, victim):
        for policy, truth in ask_consumers(self, victim).items():
            ours = selection(report, policy)
            with self.subTest(policy):
                if truth["chosen"] is None and truth["error"] is None:
                    # The scan came back with nothing: the caller asserts that it did not.
                    truth["error"], truth["type"] = NOT_LOADED, "AssertionError"
                self.assertEqual(ours["chosen"], truth["chosen"])
                self.assertEqual(ours["error_text"], truth["error"])
                self.assertEqual(ours["error_type"], truth["type"])
                works = {"ok", "unproven"} if truth["error"] is None else {"fails"}
                self.assertIn(ours["result"], works)

    GENUINE = {"kind": "genuine", "loaded": True, "missing": [], "read_route": "map_files",
               "state": "same", "vendored": False, "soname_disagrees": False,
               "marked_deleted": False, "version_from": "constant in code"}
    OF_12_8 = {**GENUINE, "version": "12.8", "major": 12, "soname": "libcudart.so.12"}
    # What has no path any more, or another file at it.
    GONE = {**OF_12_8, "marked_deleted": True}
    if os.geteuid() != 0:
        # Without CAP_CHECKPOINT_RESTORE the path is read, and of what is gone the loaded image:
        # symbols, but not the constants in the file.
        GENUINE["read_route"] = OF_12_8["read_route"] = "root_path"
        GONE.update(read_route="memory", version=None, version_from=None)

    def load(self, path, *flags):
        return self.victim(f"load({str(path)!r}{', ' + flags[0] if flags else ''})")

    def test_every_version(self):
        for version, major in (("11.8", 11), ("12.4", 12), ("12.8", 12), ("13.0", 13),
                               ("13.2", 13)):
            with self.subTest(version):
                path = self.runtime(version, folder=version)
                self.look(self.load(path), {}, path, **self.GENUINE, version=version, major=major,
                          soname=path.name)

    def test_in_the_global_scope(self):
        path = self.runtime("12.8")
        self.look(self.load(path, "os.RTLD_NOW | os.RTLD_GLOBAL"), {}, path, **self.OF_12_8)

    def test_deleted(self):
        path = self.runtime("12.8")
        victim = self.load(path)
        path.unlink()
        report = self.look(victim, {"MP01": "warning"}, path,
                           **{**self.GONE, "state": "deleted"})
        # Read through the mapping, not through its path.
        self.assertIsNotNone(by_path(report, path)["build_id"])

    def test_loaded_without_an_executable_mapping(self):
        # Neither its name nor its mappings tell, the loader's list does.
        path = self.runtime("12.8").rename(self.folder / "renamed.so")
        victim = self.load(path)
        victim.do(f"drop_execution({str(path)!r})")
        self.assertNotIn(" r-x", "".join(
            line for line in victim.maps().splitlines() if line.endswith("renamed.so")))
        self.look(victim, {}, path, **self.OF_12_8)

    def test_replaced_by_another_version(self):
        path = self.runtime("12.8")
        victim = self.load(path)
        other = self.runtime("12.4", folder="new")
        os.replace(other, path)
        report = self.look(victim, {"MP02": "error"}, path,
                           **{**self.GONE, "state": "replaced"})
        runtime = by_path(report, path)
        self.assertNotEqual(runtime["path_now"]["build_id"], runtime["build_id"])
        self.assertEqual(report["verdict"]["exit_code"], 1)

    def test_renamed_under_the_process(self):
        path = self.runtime("12.8")
        victim = self.load(path)
        other = path.with_name("elsewhere.so")
        path.rename(other)
        self.look(victim, {}, other, **self.OF_12_8)

    def test_other_names(self):
        # RT08 at the lowest level: a rule that is in no release here, or a draft, misses the name.
        for name, found in (("libcudart-d0da41ae.so.12", {}),
                            ("libcudart-D0DA41AE.so.12", {}),
                            ("libcudart.41118559.so.12", {}),
                            ("libmine.so", {})):
            with self.subTest(name):
                path = self.runtime("12.8", name)
                self.look(self.load(path), found, path, **self.OF_12_8)

    def with_soname(self, name, soname):
        support.need_program(self, "patchelf")
        path = self.runtime("12.8", name)
        subprocess.run(["patchelf", "--set-soname", soname, path], check=True)
        return path

    def test_a_private_soname(self):
        name = "libcudart-d0da41ae.so.12"
        path = self.with_soname(name, name)
        self.look(self.load(path), {}, path,
                  **{**self.OF_12_8, "soname": name, "vendored": True})

    def test_a_soname_of_another_major_does_not_deceive(self):
        path = self.with_soname("libcudart.so.13", "libcudart.so.13")
        self.look(self.load(path), {}, path,
                  **{**self.OF_12_8, "soname": "libcudart.so.13", "soname_disagrees": True})

    def test_in_another_namespace_of_the_loader(self):
        path = self.runtime("12.8")
        report = self.look(self.victim(f"load_in_namespace({str(path)!r})"), {}, path,
                           **self.OF_12_8)
        self.assertEqual(selection(report, "sglang-2026-07")["open"], "new_object")
        spaces = report["link_map"]["namespaces"]
        holds = [any(entry["runtime"] for entry in space["entries"]) for space in spaces]
        self.assertEqual(holds, [False, True])

    def test_from_memory(self):
        victim = self.victim(f"load_from_memory({str(self.runtime('12.8'))!r}, 'libcudart.so.12')")
        self.look(victim, {"MP03": "warning"}, "/memfd:libcudart.so.12",
                  **{**self.GONE, "state": "memory"})

    def test_mapped_as_data_is_not_loaded(self):
        path = self.runtime("12.8")
        self.look(self.victim(f"map_file({str(path)!r})"), {"MP06": "info", "RT01": "info"}, path,
                  **{**self.OF_12_8, "loaded": False})

    def test_two_names_of_one_file_are_one_runtime(self):
        path = self.runtime("12.8")
        other = path.with_name("libcudart.so")
        os.link(path, other)
        victim = self.load(path)
        victim.do(f"load({str(other)!r})")
        report = self.look(victim, {}, path, **self.OF_12_8)
        self.assertEqual(len([each for each in report["runtimes"] if each["mapped"]]), 1)

    def test_two_of_one_soname(self):
        path, other = self.runtime("12.8", folder="a"), self.runtime("12.4", folder="b")
        victim = self.load(path)
        victim.do(f"load({str(other)!r})")
        report = self.look(victim, {"RT05": "error"}, path, **self.OF_12_8)
        self.assertEqual(by_path(report, other)["version"], "12.4")
        self.assertEqual(report["verdict"]["exit_code"], 1)

    def test_two_majors(self):
        path, other = self.runtime("12.8"), self.runtime("13.0")
        victim = self.load(path)
        victim.do(f"load({str(other)!r})")
        report = self.look(victim, {}, path, **self.OF_12_8)
        self.assertEqual(findings(report)["RT06"], "warning")
        self.assertEqual(by_path(report, other)["major"], 13)

    def test_the_shims_alone(self):
        shim = {"kind": "shim", "missing": ["cudaDeviceReset"], "major": None, "state": "same"}
        old, new = self.runtime("tilelang-0.1.11"), self.runtime("tilelang-0.1.12")
        self.look(self.load(old), {"RT01": "info", "RT03": "warning"}, old, **shim,
                  selectable_by_name=True)
        self.look(self.load(new), {"RT01": "info", "RT03": "info"}, new, **shim,
                  selectable_by_name=False)

    def test_a_static_copy(self):
        source = fixture(self, "cuda-bindings", "cuda/bindings/_bindings/cyruntime.*.so")
        path = self.folder / source.name
        shutil.copyfile(source, path)
        self.look(self.victim(f"load_lazily({str(path)!r})"), {"RT02": "warning"}, path,
                  kind="static_copy", version="12.9", major=12, version_from="constant in code")

    def test_a_real_runtime_and_a_static_copy_are_no_duplicate(self):
        source = fixture(self, "cuda-bindings", "cuda/bindings/_bindings/cyruntime.*.so")
        path = self.runtime("12.8")
        victim = self.load(path)
        victim.do(f"load_lazily({str(source)!r})")
        self.look(victim, {}, path, **self.OF_12_8)


support.main()
