"""The wheel: installs without an index into every Python here, is the program, and reports what the program does.

wheel_test.py PROGRAM BUILD_FOLDER VERSION
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from email.parser import BytesParser

BUILD, VERSION = sys.argv.pop(2), sys.argv.pop(2)

import support  # noqa: E402 (takes the program from the arguments)
from support import SOURCE, fixture  # noqa: E402

MODULE = "import cudart_doctor, json, os, sys, ctypes\n"
OFF = "args=['--probe', 'off']"


def run(*command, **options):
    return subprocess.run([str(each) for each in command], check=True, capture_output=True, text=True, **options).stdout


def pythons():
    """One of each release here, from 3.8 on: the system's, and those that pyenv or a version in PATH's names brings."""
    found = {}
    places = [pathlib.Path("/usr/bin/python3"), *sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))]
    for place in places:
        if not place.exists():
            continue
        release = tuple(map(int, run(place, "-c", "import sys; print(*sys.version_info[:2])").split()))
        if release >= (3, 8):
            found.setdefault(release, place)
    return found


class Wheel(support.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.place, True)
        run("cmake", "--install", BUILD, "--prefix", cls.place / "prefix", "--strip")
        epoch = {**os.environ, "SOURCE_DATE_EPOCH": "1764547200"}
        for name, mask in (("one", 0o022), ("two", 0o077)):
            run(SOURCE / "scripts/package-wheel", cls.place / "prefix", VERSION, cls.place / name, env=epoch,
                umask=mask)
        (cls.wheel,) = (cls.place / "one").glob("*.whl")
        cls.venv = cls.install(pathlib.Path("/usr/bin/python3"), "venv")

    @classmethod
    def install(cls, python, name):
        venv = cls.place / name
        run(python, "-m", "venv", venv)
        run(venv / "bin/python", "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", cls.wheel)
        return venv

    def python(self, code, venv=None):
        """What the code prints, in the environment; PATH has another program of the name, which must not be taken."""
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        (other / "cudart-doctor").write_text("#!/bin/sh\necho not me\n")
        (other / "cudart-doctor").chmod(0o755)
        return run((venv or self.venv) / "bin/python", "-c", MODULE + code,
                   env=support.clean_environment(PATH=f"{other}:/usr/bin:/bin"))

    def caught(self, code, what="Error"):
        return json.loads(self.python(
            f"try:\n    {code}\n    print('null')\n"
            f"except cudart_doctor.{what} as error:\n    print(json.dumps(vars(error)))\n"))

    def test_it_is_for_every_python_of_one_platform(self):
        machine = os.uname().machine
        self.assertEqual(self.wheel.name, f"cudart_doctor-{VERSION}-py3-none-manylinux_2_34_{machine}.whl")
        with zipfile.ZipFile(self.wheel) as archive:
            meta = f"cudart_doctor-{VERSION}.dist-info"
            wheel = BytesParser().parsebytes(archive.read(f"{meta}/WHEEL"))
            metadata = BytesParser().parsebytes(archive.read(f"{meta}/METADATA"))
            names = archive.namelist()
        self.assertEqual((wheel["Root-Is-Purelib"], wheel["Tag"]), ("false", f"py3-none-manylinux_2_34_{machine}"))
        self.assertEqual((metadata["Name"], metadata["Version"], metadata["Requires-Python"]),
                         ("cudart-doctor", VERSION, ">=3.8"))
        self.assertIsNone(metadata["Requires-Dist"])
        data = f"cudart_doctor-{VERSION}.data"
        self.assertLessEqual({"cudart_doctor/py.typed", f"{data}/scripts/cudart-doctor",
                              f"{data}/data/share/man/man1/cudart-doctor.1.gz",
                              f"{data}/data/share/bash-completion/completions/cudart-doctor"}, set(names))

    def test_the_tag_promises_no_more_than_the_program_keeps(self):
        program = self.venv / "bin/cudart-doctor"
        versions = {tuple(map(int, each.split(".")))
                    for each in re.findall(r"GLIBC_([0-9.]+)", run("readelf", "--version-info", "--wide", program))}
        self.assertTrue(versions)
        self.assertLessEqual(max(versions), (2, 34))

    def test_another_umask_gives_the_same_bytes(self):
        (other,) = (self.place / "two").glob("*.whl")
        self.assertEqual(self.wheel.read_bytes(), other.read_bytes())

    def test_the_command_is_the_program_itself(self):
        installed = self.venv / "bin/cudart-doctor"
        self.assertEqual(installed.read_bytes(), (self.place / "prefix/bin/cudart-doctor").read_bytes())
        self.assertEqual(run(installed, "--version"), f"cudart-doctor {VERSION}\n")
        self.assertEqual(run(self.venv / "bin/python", "-m", "cudart_doctor", "--version"), f"cudart-doctor {VERSION}\n")

    def test_every_python_here_imports_and_reports(self):
        for release, python in pythons().items():
            with self.subTest(release):
                venv = self.install(python, "venv-" + ".".join(map(str, release)))
                shown = json.loads(self.python(
                    f"print(json.dumps([cudart_doctor.__version__, cudart_doctor.report(os.getpid(), {OFF})]))", venv))
                self.assertEqual(shown[0], VERSION)
                support.VALIDATOR.validate(shown[1])

    def test_a_report_on_itself_has_what_python_loaded(self):
        runtime = fixture(self, "cudart-12.8", "nvidia/cuda_runtime/lib/libcudart.so.12")
        report = json.loads(self.python(f"ctypes.CDLL({str(runtime)!r})\n"
                                        f"print(json.dumps(cudart_doctor.report(os.getpid(), timeout=20, {OFF})))"))
        support.VALIDATOR.validate(report)
        self.assertEqual([each["path"] for each in report["runtimes"] if each["loaded"]], [str(runtime)])

    def test_a_report_without_pid_is_on_this_interpreters_environment(self):
        site = run(self.venv / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        runtime = fixture(self, "cudart-12.8", "nvidia/cuda_runtime/lib/libcudart.so.12")
        target = pathlib.Path(site, "nvidia/cuda_runtime/lib")
        target.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, pathlib.Path(site, "nvidia"))
        shutil.copyfile(runtime, target / "libcudart.so.12")
        report = json.loads(self.python(f"print(json.dumps(cudart_doctor.report({OFF})))"))
        self.assertIn(str(target / "libcudart.so.12"), json.dumps(report["runtimes"]))

    def test_check_raises_for_a_bad_process_and_only_for_that(self):
        stub = fixture(self, "tilelang-0.1.11", "tilelang/lib/libcudart_stub.so")
        load = f"ctypes.CDLL({str(stub)!r}); "
        failed = self.caught(load + "cudart_doctor.check(os.getpid(), "
                             "args=['--probe', 'off', '--fail-on', 'warning'])", "Failed")
        support.VALIDATOR.validate(failed["report"])
        self.assertEqual(failed["report"]["verdict"]["exit_code"], 1)
        self.assertIn("RT03", [each["id"] for each in failed["report"]["findings"]])
        self.assertIsNone(self.caught(f"cudart_doctor.check(os.getpid(), {OFF})", "Failed"))

    def test_a_process_that_is_not_there_is_an_error_of_the_program(self):
        error = self.caught("cudart_doctor.report(4194305)")
        self.assertEqual((error["kind"], error["document"]["error"]["message"]), ("not_found", error["message"]))

    def test_a_wrong_option_is_an_error_of_usage(self):
        self.assertEqual(self.caught("cudart_doctor.report(args=['--no-such-option'])")["kind"], "usage")

    def broken(self, program):
        """The error where the installed program is this text, or gone."""
        installed = self.venv / "bin/cudart-doctor"
        kept = installed.with_name("kept")
        installed.rename(kept)
        self.addCleanup(kept.replace, installed)
        if program is not None:
            installed.write_text(program)
            installed.chmod(0o755)
        return self.caught("cudart_doctor.report(os.getpid())")

    def test_a_program_that_is_gone_is_said_with_its_path(self):
        error = self.broken(None)
        self.assertEqual(error["kind"], "program")
        self.assertIn(str(self.venv / "bin/cudart-doctor"), error["message"])

    def test_an_answer_that_is_no_report_is_an_error_with_what_was_said(self):
        error = self.broken("#!/bin/sh\necho '{\"verdict\": 1}'\necho no space left >&2\nexit 1\n")
        self.assertEqual((error["kind"], error["document"]), ("program", None))
        self.assertIn("no space left", error["message"])
        self.assertIn("exit status 1", error["message"])


if __name__ == "__main__":
    support.main()
