"""cuda-pathfinder: our rule, told before, against what its own code then does in the process."""
import os
import shutil
import sys

import support
from support import Case, PYTHON, clean_environment, fixture, selection

# Wheel's fixture, the rule of its vintage.
VINTAGES = [("pathfinder-1.1", "cuda-pathfinder-1.0"), ("pathfinder-1.4", "cuda-pathfinder-1.2"),
            ("pathfinder-1.7", "cuda-pathfinder-1.5"), ("pathfinder-1.9", "cuda-pathfinder")]

ASK = """
try:
    from cuda.pathfinder import load_nvidia_dynamic_lib
    answer = load_nvidia_dynamic_lib("cudart").abs_path
except Exception as error:
    answer = type(error).__name__
with open({file!r}, "w") as out:
    out.write(answer)
"""


class Pathfinder(Case):
    def environment(self, *wheels):
        """A virtual environment with what the wheels' fixtures hold."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        root = self.folder / "venv"
        shutil.rmtree(root, ignore_errors=True)
        site = root / f"lib/python{version}/site-packages"
        site.mkdir(parents=True)
        (root / "bin").mkdir()
        real = os.path.realpath(PYTHON)
        (root / "bin/python").symlink_to(real)
        (root / "pyvenv.cfg").write_text(f"home = {os.path.dirname(real)}\nversion = {version}.0\n")
        for wheel in wheels:
            shutil.copytree(fixture(self, wheel, "*.dist-info").parent, site, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns(".complete", "include", "licenses"))
        return root / "bin/python"

    def toolkit(self, name, *versions):
        """A folder with lib64, in which runtimes lie as a toolkit has them."""
        for version in versions:
            file = self.runtime(version, folder=f"{name}/lib64")
            link = file.parent / "libcudart.so"
            if not link.exists():
                link.symlink_to(file.name)
        return self.folder / name

    def ours(self, report, rule):
        """What the rule's answer says: a path, or how it fails."""
        answer = selection(report, rule)
        self.assertEqual(answer["presence"], "present")
        if answer["outcome"] == "not_found":
            return "DynamicLibNotFoundError"
        self.assertEqual(answer["outcome"], "selected", answer)
        self.assertEqual(answer["result"], "ok", answer)
        for each in report["runtimes"]:
            if each["ref"] == answer["runtime"]:
                return each["path"]
        return answer["disk_path"]

    def compare(self, wheels=(), loaded=(), **variables):
        """For each vintage: the same file as its own code gives, or the same failure."""
        answers = {}
        for wheel, rule in VINTAGES:
            with self.subTest(wheel=wheel):
                python = self.environment(wheel, *wheels)
                victim = self.victim(*(f"load({str(path)!r})" for path in loaded), python=python,
                                     env=clean_environment(**variables))
                report = self.report("--pid", victim.pid)
                mine = self.ours(report, rule)
                file = self.folder / "answer"
                victim.do(f"exec({ASK.format(file=str(file))!r}, globals())")
                theirs = file.read_text()
                victim.end()
                self.assertEqual(os.path.realpath(mine) if "/" in mine else mine,
                                 os.path.realpath(theirs) if "/" in theirs else theirs)
                answers[rule] = theirs
        return answers

    def test_nothing_anywhere(self):
        self.compare()

    def test_one_wheel(self):
        for wheel in ("cudart-12.8", "cudart-13.0"):
            self.compare([wheel])

    def test_both_wheels(self):
        answers = self.compare(["cudart-12.8", "cudart-13.0"])
        self.assertIn("cuda_runtime", answers["cuda-pathfinder-1.0"])
        self.assertIn("cu13", answers["cuda-pathfinder"])

    def test_what_is_loaded_wins_over_the_wheel(self):
        loaded = self.runtime("12.4", folder="other")
        answers = self.compare(["cudart-13.0"], [loaded])
        self.assertEqual(set(answers.values()), {str(loaded)})

    def test_two_loaded_majors(self):
        old, new = self.runtime("12.8", folder="a"), self.runtime("13.0", folder="b")
        answers = self.compare([], [old, new])
        self.assertEqual(answers["cuda-pathfinder-1.0"], str(old))
        self.assertEqual(answers["cuda-pathfinder"], str(new))

    def test_a_deleted_one_is_found_by_its_soname(self):
        path = self.runtime("12.8", folder="other")
        source = path.read_bytes()
        for wheel, rule in VINTAGES:
            with self.subTest(wheel=wheel):
                path.write_bytes(source)
                victim = self.victim(f"load({str(path)!r})", python=self.environment(wheel))
                path.unlink()
                report = self.report("--pid", victim.pid)
                self.assertEqual(selection(report, rule)["open"], "old_object")
                self.assertEqual(self.ours(report, rule), str(path))
                file = self.folder / "answer"
                victim.do(f"exec({ASK.format(file=str(file))!r}, globals())")
                self.assertEqual(file.read_text(), str(path))
                victim.end()

    def test_a_renamed_file_with_its_soname(self):
        self.compare([], [self.runtime("12.8", name="libcudart-d0da41ae.so.12")])

    def test_the_toolkit_of_a_variable(self):
        path, home = self.toolkit("path", "12.4"), self.toolkit("home", "12.8")
        answers = self.compare(CUDA_PATH=str(path), CUDA_HOME=str(home))
        # Where the machine has a runtime of its own, the loader finds that before.
        if answers["cuda-pathfinder"].startswith(str(self.folder)):
            self.assertIn("/path/", answers["cuda-pathfinder"])
            self.assertIn("/home/", answers["cuda-pathfinder-1.2"])

    def test_the_loaders_search_comes_before_the_toolkit(self):
        path, other = self.toolkit("path", "12.4"), self.toolkit("other", "12.8")
        self.compare(CUDA_PATH=str(path), LD_LIBRARY_PATH=str(other / "lib64"))


support.main()
