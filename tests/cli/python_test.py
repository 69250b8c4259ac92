"""--python: whose packages are looked at, in every way in which a shell lets one name an interpreter."""
import os
import shutil
import sys

import support
from support import Case, PYTHON, clean_environment

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


class Named(Case):
    def setUp(self):
        super().setUp()
        root = self.folder / "work" / ".venv"
        self.site = root / f"lib/python{VERSION}/site-packages"
        self.site.mkdir(parents=True)
        (root / "bin").mkdir()
        for name in ("python", "python3"):
            (root / "bin" / name).symlink_to(os.path.realpath(PYTHON))
        (root / "pyvenv.cfg").write_text(
            f"home = {os.path.dirname(os.path.realpath(PYTHON))}\nversion = {VERSION}.0\n")
        self.root, self.work = root, root.parent

    def check_found(self, name, cwd, **environment):
        report = self.report("--python", name, cwd=cwd, env=clean_environment(**environment))
        self.assertEqual(report["python"]["chosen_by"], "--python")
        self.assertEqual([os.path.realpath(each) for each in report["python"]["site_directories"]],
                         [str(self.site)], name)

    def test_a_path_is_one_of_the_working_directory(self):
        for name, cwd in ((".venv/bin/python", self.work), ("./.venv/bin/python", self.work),
                          ("bin/python3", self.root), ("./python", self.root / "bin"),
                          ("../bin/python", self.root / "bin"),
                          ("../python", self.root / "bin"),
                          (self.root / "bin/python", "/")):
            if name == "../python":
                (self.root / "bin/inner").mkdir()
                cwd = self.root / "bin/inner"
            with self.subTest(name):
                self.check_found(name, cwd)

    def test_a_library_there_is_found_by_a_relative_path_too(self):
        library = self.site / "nvidia/cuda_runtime/lib/libcudart.so.12"
        library.parent.mkdir(parents=True)
        shutil.copyfile(self.runtime("12.8"), library)
        report = self.report("--python", ".venv/bin/python", cwd=self.work)
        self.assertIn(str(library), [each["path"] for each in report["runtimes"]])

    def test_the_root_of_an_environment_stands_for_its_python(self):
        for name in (".venv", ".venv/", "./.venv", self.root):
            with self.subTest(name):
                self.check_found(name, self.work)

    def test_a_bare_name_is_searched_on_the_path(self):
        self.check_found("python3", "/", PATH=f"/nonexistent:{self.root}/bin:/usr/bin")
        self.check_found("python3", self.work, PATH=".venv/bin")

    def test_a_process_that_was_started_by_a_relative_path_has_that_environment(self):
        for name in ("./python", "../bin/python"):
            victim = support.Victim(self, prefix=["sh", "-c", f'cd "$0" && exec {name} "$@"',
                                                  self.root / "bin"], python="-u")
            with self.subTest(name):
                python = self.report("--pid", victim.pid)["python"]
                self.assertEqual(python["chosen_by"], "command line")
                self.assertEqual(os.path.realpath(python["site_directories"][0]), str(self.site))

    def test_what_is_no_python_with_packages_is_refused(self):
        (self.folder / "empty/bin").mkdir(parents=True)
        (self.folder / "empty/bin/python").write_bytes(b"")
        for name, text in (("nowhere/python", "nowhere/python: No such file or directory"),
                           ("no-such-python", "--python no-such-python: not found on PATH"),
                           ("/etc/hostname", "no Python interpreter"),
                           ("/bin/ls", "no Python interpreter"),
                           (self.folder, "a directory without bin/python"),
                           ("empty/bin/python", "it has no site-packages"),
                           ("", "names no file")):
            with self.subTest(name):
                self.assertIn(text, self.failure(2, "--python", name, cwd=self.folder))

    def test_a_folder_that_may_not_be_read_is_no_empty_environment(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        os.chmod(self.root / "lib", 0o700)
        ended = support.doctor("--json", "--python", self.root, user=support.NOBODY)
        self.assertEqual(ended.code, 3, ended.message)
        self.assertNotEqual(ended.document["python"]["unread_directories"], [])
        line = support.doctor("--format", "line", "--python", self.root, user=support.NOBODY).text
        self.assertRegex(line, r"^UNKNOWN \d+ Python director(y|ies) could not be read")


support.main()
