"""Consumers installed beside the process: found, dated by their own files, and judged."""
import os
import pathlib
import shutil
import sys

import support
from support import Case, PYTHON, by_path, doctor, findings, fixture, selection
from consumer_code import FLASHINFER, SGLANG

TRIES = 4


class Installed(Case):
    def setUp(self):
        super().setUp()
        self.version = f"{sys.version_info.major}.{sys.version_info.minor}"

    def environment(self, *wheels):
        """A virtual environment with what the wheels' fixtures hold."""
        root = self.folder / "venv"
        shutil.rmtree(root, ignore_errors=True)
        self.site = root / f"lib/python{self.version}/site-packages"
        self.site.mkdir(parents=True)
        (root / "bin").mkdir()
        real = os.path.realpath(PYTHON)
        (root / "bin/python").symlink_to(real)
        (root / "pyvenv.cfg").write_text(
            f"home = {os.path.dirname(real)}\nversion = {self.version}.0\n")
        for wheel in wheels:
            folder = fixture(self, wheel, "*.dist-info").parent
            shutil.copytree(folder, self.site, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns(".complete", "include", "licenses"))
        return root / "bin/python"

    def start(self, python, *paths):
        return self.victim(*(f"load({str(path)!r})" for path in paths), python=python)

    def in_order(self, python, first, second):
        """A victim in which `first` has the lower address."""
        for _ in range(TRIES):
            victim = self.start(python, second)
            victim.do("fill_holes()")
            victim.do(f"load({str(first)!r})")
            maps = victim.maps()
            if maps.index(str(first)) < maps.index(str(second)):
                return victim
            victim.end()
        self.skipTest(f"the kernel put {first.name} above {second.name} {TRIES} times")

    def consumer(self, report, name):
        return next(each for each in report["consumers"] if each["id"] == name)

    def runtimes_in(self):
        return (self.site / "tilelang/lib/libcudart_stub.so",
                self.site / "nvidia/cuda_runtime/lib/libcudart.so.12")

    def test_flashinfer_before_its_fix_takes_the_stub(self):
        python = self.environment("cudart-12.8", "tilelang-0.1.11", "flashinfer-0.6.17")
        stub, real = self.runtimes_in()
        victim = self.in_order(python, stub, real)
        report = self.report("--pid", victim.pid)
        consumer = self.consumer(report, "flashinfer")
        self.assertEqual((consumer["presence"], consumer["version"], consumer["vintage"]),
                         ("present", "0.6.17", "flashinfer-legacy-rt11"))
        self.assertEqual(report["headline"]["policy"], "flashinfer-legacy-rt11")
        self.assertEqual(report["verdict"]["exit_code"], 1)
        self.assertEqual(findings(report)["RT04"], "critical")
        first = report["findings"][0]
        self.assertEqual((first["id"], first["consumer"]), ("RT04", "FlashInfer 0.6.17"))
        self.assertIn("FlashInfer", first["headline"])
        chosen = selection(report, "flashinfer-legacy-rt11")
        self.assertEqual(chosen["runtime"], by_path(report, stub)["ref"])
        self.assertEqual(chosen["missing"], ["cudaDeviceReset"])
        self.assertEqual(chosen["stability"], "order_dependent")
        self.assertEqual(by_path(report, stub)["package"], "tilelang 0.1.11")
        self.assertEqual(by_path(report, real)["package"], "nvidia-cuda-runtime-cu12 12.8.90")
        text = doctor("--pid", victim.pid).text.splitlines()
        self.assertTrue(text[0].startswith("CRITICAL RT04"), text[0])
        self.assertIn("FlashInfer", text[1])

    def test_the_other_order_is_luck_and_is_said_to_be(self):
        python = self.environment("cudart-12.8", "tilelang-0.1.11", "flashinfer-0.6.17")
        stub, real = self.runtimes_in()
        report = self.report("--pid", self.in_order(python, real, stub).pid)
        found = findings(report)
        self.assertNotIn("RT04", found)
        self.assertEqual((found["RT03"], found["RT07"]), ("warning", "warning"))
        self.assertEqual(report["verdict"]["exit_code"], 0)

    def test_flashinfer_with_its_fix_does_not(self):
        python = self.environment("cudart-12.8", "tilelang-0.1.11", "flashinfer-0.7.4")
        stub, real = self.runtimes_in()
        report = self.report("--pid", self.in_order(python, stub, real).pid)
        consumer = self.consumer(report, "flashinfer")
        self.assertEqual((consumer["version"], consumer["vintage"]),
                         ("0.7.4", "flashinfer-2026-09"))
        self.assertEqual(report["headline"]["policy"], "flashinfer-2026-09")
        self.assertIn(findings(report).get("RT04"), (None, "info"))
        chosen = selection(report, "flashinfer-2026-09")
        self.assertEqual(chosen["runtime"], by_path(report, real)["ref"])
        self.assertEqual(chosen["result"], "ok")

    def test_the_renamed_shim_deceives_nobody(self):
        python = self.environment("cudart-12.8", "tilelang-0.1.12", "flashinfer-0.6.17")
        stub, real = self.site / "tilelang/lib/libstub_cudart.so", self.runtimes_in()[1]
        report = self.report("--pid", self.in_order(python, stub, real).pid)
        found = findings(report)
        self.assertNotIn("RT04", found)
        self.assertEqual((found["RT03"], report["verdict"]["exit_code"]), ("info", 0))
        self.assertEqual(selection(report, "flashinfer-legacy-rt11")["result"], "ok")

    def test_every_release_is_dated_by_its_own_file(self):
        for wheel, name, vintage, path in (
                ("flashinfer-0.6.13", "flashinfer", "flashinfer-legacy-rt10", FLASHINFER),
                ("flashinfer-0.6.17", "flashinfer", "flashinfer-legacy-rt11", FLASHINFER),
                ("flashinfer-0.7.4", "flashinfer", "flashinfer-2026-09", FLASHINFER),
                ("sglang-0.5.9", "sglang", "sglang-legacy", SGLANG),
                ("sglang-0.5.23", "sglang", "sglang-2026-07", SGLANG)):
            with self.subTest(wheel):
                python = self.environment(wheel)
                victim = self.start(python)
                report = self.report("--pid", victim.pid)
                consumer = self.consumer(report, name)
                self.assertEqual(consumer["presence"], "present")
                self.assertEqual(consumer["version"], wheel.split("-")[1])
                self.assertEqual(consumer["vintage"], vintage)
                self.assertIn(pathlib.PurePath(path).name, consumer["vintage_from"])
                self.assertEqual(report["headline"]["policy"], vintage)
                victim.end()

    def test_installed_together_without_a_program(self):
        """Nothing is loaded, but the packages are trouble for the program that loads both."""
        for wheels, level, code in (
                (("tilelang-0.1.11", "flashinfer-0.6.17"), "error", 1),
                (("tilelang-0.1.11", "sglang-0.5.9"), "error", 1),
                (("tilelang-0.1.11", "flashinfer-0.7.4"), None, 0),
                (("tilelang-0.1.12", "flashinfer-0.6.17"), None, 0),
                (("tilelang-0.1.11",), None, 0)):
            with self.subTest(wheels=wheels):
                python = self.environment("cudart-12.8", *wheels)
                report = self.report("--python", python)
                self.assertEqual(findings(report).get("RT04"), level)
                self.assertEqual(report["verdict"]["exit_code"], code)

    def test_a_runtime_that_went_away_by_what_the_consumer_does(self):
        """Which rules keep the deleted mark, cut it, or never match it: docs/policies.md."""
        for wheel, vintage, result, deleted, missed in (
                ("sglang-0.5.9", "sglang-legacy", "fails", "critical", "error"),
                ("sglang-0.5.23", "sglang-2026-07", "ok", "warning", None),
                ("flashinfer-0.6.17", "flashinfer-legacy-rt11", "fails", "critical", "error"),
                ("flashinfer-0.7.4", "flashinfer-2026-09", "fails", "warning", "error")):
            for change in ("deleted", "replaced"):
                with self.subTest(wheel=wheel, change=change):
                    python = self.environment("cudart-12.8", wheel)
                    real = self.runtimes_in()[1]
                    victim = self.start(python, real)
                    if change == "deleted":
                        real.unlink()
                        name, level = "MP01", deleted
                    else:
                        os.replace(self.runtime("12.4"), real)
                        name, level = "MP02", "error" if deleted == "warning" else deleted
                    report = self.report("--pid", victim.pid)
                    self.assertEqual(report["headline"]["policy"], vintage)
                    self.assertEqual(selection(report, vintage)["result"], result)
                    found = findings(report)
                    self.assertEqual((found[name], found.get("RT08")), (level, missed))
                    victim.end()

    def test_two_runtimes_by_severity(self):
        for version, found in (("12.4", {"RT05": "error", "RT07": "warning"}),
                               ("13.0", {"RT06": "warning", "RT07": "warning"})):
            with self.subTest(version):
                python = self.environment("cudart-12.8", "sglang-0.5.23")
                victim = self.start(python, self.runtimes_in()[1],
                                    self.runtime(version, folder="other"))
                report = self.report("--pid", victim.pid)
                for name, level in found.items():
                    self.assertEqual(findings(report)[name], level)
                chosen = selection(report, "sglang-2026-07")
                self.assertEqual((chosen["result"], chosen["stability"]),
                                 ("ok", "order_dependent"))
                lowest = min((each for each in report["runtimes"] if each["loaded"]),
                             key=lambda each: int(each["address"], 16))
                self.assertEqual(chosen["runtime"], lowest["ref"])
                victim.end()

    def test_a_patched_file_outranks_the_version(self):
        python = self.environment("flashinfer-0.6.17")
        fixed = fixture(self, "flashinfer-0.7.4", FLASHINFER)
        shutil.copyfile(fixed, self.site / FLASHINFER)
        report = self.report("--pid", self.start(python).pid)
        consumer = self.consumer(report, "flashinfer")
        self.assertEqual((consumer["version"], consumer["vintage"]),
                         ("0.6.17", "flashinfer-2026-09"))

    def test_what_flashinfer_opens_for_the_global_scope_is_told_beforehand(self):
        python = self.environment("cudart-13.0", "flashinfer-0.7.4")
        real = self.site / "nvidia/cu13/lib/libcudart.so.13"
        toolkit = self.runtime("12.4", folder="toolkit")
        victim = self.victim(f"load({str(real)!r})", python=python,
                             env=support.clean_environment(CUDA_LIB_PATH=str(toolkit.parent)))
        report = self.report("--pid", victim.pid)
        told = selection(report, "flashinfer-jit-preload")
        self.assertEqual((told["presence"], told["open"], told["disk_path"]),
                         ("present", "loads", str(toolkit)))
        self.assertIn("global scope", told["open_note"])
        text = doctor("--pid", victim.pid).text
        self.assertRegex(text, r"\n FlashInfer JIT preload +\S+ +ok, loaded anew")
        # What flashinfer/jit/__init__.py does at import.
        victim.do(f"load({str(toolkit)!r}, os.RTLD_NOW | os.RTLD_GLOBAL)")
        report = self.report("--pid", victim.pid)
        done = selection(report, "flashinfer-jit-preload")
        self.assertEqual((done["open"], done["runtime"]),
                         ("old_object", by_path(report, toolkit)["ref"]))

    def test_pytorchs_preload_takes_an_old_wheel_beside_the_new_one(self):
        python = self.environment("cudart-12.8", "cudart-13.0")
        (self.site / "torch-2.11.0+cu130.dist-info").mkdir()
        report = self.report("--pid", self.start(python).pid)
        told = selection(report, "torch-preload")
        self.assertEqual((told["presence"], told["disk_path"]),
                         ("present", str(self.runtimes_in()[1])))
        self.assertEqual(selection(report, "torch-preload-legacy")["presence"], "absent")

    def test_another_environment_is_not_this_ones(self):
        python = self.environment("sglang-0.5.9")
        report = self.report("--pid", self.start(PYTHON).pid)
        self.assertNotEqual(self.consumer(report, "sglang")["presence"], "present")
        report = self.report("--pid", self.start(PYTHON).pid, "--python", python)
        self.assertEqual(self.consumer(report, "sglang")["version"], "0.5.9")


support.main()
