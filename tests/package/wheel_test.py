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

    def test_no_option_makes_a_bad_process_pass(self):
        stub = fixture(self, "tilelang-0.1.11", "tilelang/lib/libcudart_stub.so")
        ways = [["--exit-style", "always-zero"], ["--exit-style=nagios"], ["--format", "json"], ["--json"],
                ["-o", "/dev/null"], ["-o/dev/null"], ["-vo", "-"], ["--output=-"], ["--format=line"], ["--help"],
                ["-h"], ["--version"], ["--json-schema"], ["tree"], ["snapshot", "--dir", "x"], ["policies"],
                ["explain", "RT04"], ["diff", "a", "b"], ["run", "--", "true"], ["--", "true"], ["--redact", "tree"]]
        shown = self.outcomes(f"ctypes.CDLL({str(stub)!r})\n",
                              [f"cudart_doctor.check(os.getpid(), args=['--probe', 'off', '--fail-on', 'warning'] + {way})"
                               for way in ways])
        self.assertEqual(shown, ["Error: usage"] * len(ways))

    def outcomes(self, before, calls):
        """What each ends with: "passed", or the exception, and for an Error its kind."""
        return json.loads(self.python(
            before + "ended = []\n" +
            "".join(f"try:\n    {call}\n    ended.append('passed')\n"
                    "except BaseException as error:\n"
                    "    ended.append(': '.join([type(error).__name__] + [error.kind for _ in [0] if hasattr(error, 'kind')]))\n"
                    for call in calls) + "print(json.dumps(ended))\n"))

    def test_whatever_is_asked_for_the_exception_is_this_modules(self):
        wrong = ["timeout=float('inf')", "timeout=float('nan')", "timeout=1e300", "timeout=10**400", "timeout=-1e9",
                 "timeout=0", "timeout='soon'", "timeout=[]", "pid='x'", "pid=-1", "pid=0", "pid=10**5000", "pid=1.5",
                 "args='--deep'", "args=b'x'", "args=5", "args=[5]", "args=[None]", "args=[b'--deep']",
                 "args=['a\\0b']", "args=['\\ud800']", "args=['']", "pid=os.getpid(), args=['--pid', '1']"]
        for name in ("report", "check"):
            self.assertEqual(dict(zip(wrong, self.outcomes("", [f"cudart_doctor.{name}({each})" for each in wrong]))),
                             dict.fromkeys(wrong, "Error: usage"))
        self.assertEqual(self.outcomes("", ["cudart_doctor.report(args=['x' * 10**7])"]), ["Error: program"])

    def test_all_processes_can_be_asked_for(self):
        report = json.loads(self.python("print(json.dumps(cudart_doctor.report(args=['--all', '--redact'])))"))
        self.assertEqual(report["kind"], "node")

    def test_a_distribution_in_the_current_folder_names_no_program(self):
        info = self.folder / f"cudart_doctor-{VERSION}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cudart-doctor\nVersion: {VERSION}\n")
        (info / "RECORD").write_text("bin/cudart-doctor,,\n")
        (self.folder / "bin").mkdir()
        (self.folder / "bin/cudart-doctor").write_text("#!/bin/sh\necho not me\n")
        (self.folder / "bin/cudart-doctor").chmod(0o755)
        shown = run(self.venv / "bin/python", "-c", MODULE + "print(cudart_doctor.program())", cwd=self.folder)
        self.assertEqual(shown.strip(), str(self.venv / "bin/cudart-doctor"))
        self.assertEqual(run(self.venv / "bin/python", "-m", "cudart_doctor", "--version", cwd=self.folder),
                         f"cudart-doctor {VERSION}\n")

    def test_a_folder_of_pips_target_has_its_own_program(self):
        target = self.folder / "a/b/c/target"
        run(self.venv / "bin/python", "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check",
            "--target", target, self.wheel)
        # Where the record, which was written for another place, leads to.
        other = self.folder / "a/bin/cudart-doctor"
        other.parent.mkdir()
        other.write_text("#!/bin/sh\necho not me\n")
        other.chmod(0o755)
        shown = run("/usr/bin/python3", "-c", MODULE + "print(cudart_doctor.program())",
                    env=support.clean_environment(PYTHONPATH=str(target)))
        self.assertEqual(shown.strip(), str(target / "bin/cudart-doctor"))

    def broken(self, program):
        """The error where the installed program is this text, or gone."""
        installed = self.venv / "bin/cudart-doctor"
        kept = installed.with_name("kept")
        installed.rename(kept)
        try:
            if program is not None:
                installed.write_text(program)
                installed.chmod(0o755)
            return self.caught("cudart_doctor.report(os.getpid())")
        finally:
            kept.replace(installed)

    def test_a_program_that_is_gone_is_said_with_its_path(self):
        error = self.broken(None)
        self.assertEqual(error["kind"], "program")
        self.assertIn(str(self.venv / "bin/cudart-doctor"), error["message"])

    def test_an_answer_that_is_no_report_is_an_error_with_what_was_said(self):
        error = self.broken("#!/bin/sh\necho '{\"verdict\": 1}'\necho no space left >&2\nexit 1\n")
        self.assertEqual((error["kind"], error["document"]), ("program", None))
        self.assertIn("no space left", error["message"])
        self.assertIn("exit status 1", error["message"])

    def test_no_output_gets_through_as_another_exception(self):
        deep = "[" * 200000
        for text in (deep, "\\xff\\xfe", "{}", "null", '{"verdict": {}}', '{"verdict": {"state": "ok"}, "headline": 1}',
                     '{"verdict": {}, "error": 7}', '{"verdict": {}, "error": {"kind": "x"}}',
                     '{"verdict": {"state": "ok", "exit_code": 1}, "headline": {"sentence": ""}}'):
            with self.subTest(text[:40]):
                (self.folder / "said").write_text(text)
                error = self.broken(f"#!/bin/sh\ncat {self.folder}/said\n")
                self.assertEqual(error["kind"], "program")


if __name__ == "__main__":
    support.main()
