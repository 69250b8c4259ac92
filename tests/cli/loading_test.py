"""What the loader would find, for this process and for a new one: toy libraries, real searches."""
import os
import shutil
import subprocess
import unittest

from support import PYTHON, Case, clean_environment, need_program


def finding(report, identity):
    found = [one for one in report["findings"] if one["id"] == identity]
    return found[0] if found else None


class Preloads(Case):
    """A hook that needs a runtime which lies in a folder that nobody searches."""

    def setUp(self):
        super().setUp()
        (self.folder / "lib").mkdir()
        self.compile("lib/libcudart.so.12", "int cudaFree(void *p) { return p != 0; }",
                     "-Wl,-soname,libcudart.so.12")
        code = "int cudaFree(void *); int hook(void) { return cudaFree(0); }"
        flags = ("-L", str(self.folder / "lib"), "-l:libcudart.so.12", "-Wl,-soname,hook.so")
        self.good = self.compile("good.so", code, *flags, "-Wl,-rpath,$ORIGIN/lib")
        self.bare = self.compile("bare.so", code, *flags)

    def starts(self, **changes):
        """How a new process with this environment ends."""
        return subprocess.run([PYTHON, "-c", ""], env=clean_environment(**changes), check=False,
                              stderr=subprocess.DEVNULL).returncode

    def test_a_hook_that_finds_what_it_needs(self):
        victim = self.victim(env=clean_environment(LD_PRELOAD=str(self.good)))
        self.assertEqual(self.starts(LD_PRELOAD=str(self.good)), 0)
        self.assertIsNone(finding(self.report("--pid", victim.pid), "RT12"))

    def test_a_hook_that_a_new_process_cannot_load(self):
        hook = self.folder / "hook.so"
        shutil.copyfile(self.good, hook)
        victim = self.victim(env=clean_environment(LD_PRELOAD=str(hook)))
        os.replace(self.bare, hook)
        self.assertEqual(self.starts(LD_PRELOAD=str(hook)), 127)
        found = finding(self.report("--pid", victim.pid), "RT12")
        self.assertEqual(found["severity"], "critical")
        self.assertIn(f"LD_PRELOAD names {hook}; NEEDED libcudart.so.12", found["evidence"])
        folder = str(self.folder / "lib")
        self.assertIn(f"Add {folder} to LD_LIBRARY_PATH", found["fixes"])
        self.assertEqual(self.starts(LD_PRELOAD=str(hook), LD_LIBRARY_PATH=folder), 0)

    def test_the_variable_leads_to_it(self):
        hook = self.folder / "hook.so"
        shutil.copyfile(self.good, hook)
        environment = {"LD_PRELOAD": str(hook), "LD_LIBRARY_PATH": str(self.folder / "lib")}
        victim = self.victim(env=clean_environment(**environment))
        os.replace(self.bare, hook)
        self.assertEqual(self.starts(**environment), 0)
        self.assertIsNone(finding(self.report("--pid", victim.pid), "RT12"))


class Compilers(Case):
    """A library with the texts of an NVRTC, and builtins beside it."""

    def compiler(self, *builtins):
        for name in builtins:
            self.compile(name, "int builtins;", "-Wl,-soname," + name)
        return self.compile(
            "libnvrtc.so.12",
            'const char *const texts[] = {"Cuda compilation tools, release 12.4, V12.4.127",'
            '"NVRTC_ERROR_OUT_OF_MEMORY"}; int nvrtcVersion(void) { return texts[0] != 0; }',
            "-Wl,-soname,libnvrtc.so.12", "-Wl,-rpath,$ORIGIN")

    def found(self, library):
        victim = self.victim(f"load({str(library)!r})")
        return finding(self.report("--pid", victim.pid), "SY03")

    def test_its_own_builtins(self):
        library = self.compiler("libnvrtc-builtins.so.12.4", "libnvrtc-builtins.so.12.8")
        self.assertIsNone(self.found(library))

    def test_builtins_of_another_release(self):
        found = self.found(self.compiler("libnvrtc-builtins.so.12.8"))
        self.assertEqual(found["severity"], "error")
        self.assertIn(f"There instead: {self.folder}/libnvrtc-builtins.so.12.8", found["evidence"])

    def test_builtins_of_another_release_under_its_name(self):
        library = self.compiler("libnvrtc-builtins.so.12.8")
        (self.folder / "libnvrtc-builtins.so.12.4").symlink_to("libnvrtc-builtins.so.12.8")
        self.assertIn("would open the builtins of 12.8", self.found(library)["headline"])

    def test_builtins_under_a_hashed_name(self):
        found = self.found(self.compiler("libnvrtc-builtins-6c5639ce.so.12.4"))
        self.assertIn("does not find its builtins", found["headline"])


class Symbols(Case):
    """Extensions that ask for more than what serves them has."""

    def found(self, identity, *commands):
        return finding(self.report("--pid", self.victim(*commands).pid), identity)

    def asking(self, declaration):
        # A driver's code is no constant, and it needs libc: a stub's is, and does not.
        self.compile("libcuda.so.1", "int getpid(void); int cuInit(unsigned f) "
                     "{ return getpid() + (int)f; }", "-Wl,-soname,libcuda.so.1")
        code = declaration + "int op(void) { return cuInit(0) + cuGreenCtxStreamCreate(); }"
        library = self.compile("op.so", code, "-L", str(self.folder), "-l:libcuda.so.1",
                               "-Wl,-z,lazy", "-Wl,-rpath,$ORIGIN")
        return f"load_lazily({str(library)!r})"

    def test_a_driver_function_that_the_driver_lacks(self):
        line = self.asking("int cuInit(unsigned); int cuGreenCtxStreamCreate(void);")
        found = self.found("SY02", line)
        self.assertEqual(found["severity"], "error")
        self.assertIn(f"Needed by {self.folder}/op.so: cuGreenCtxStreamCreate", found["evidence"])

    def test_a_driver_function_that_may_be_missing(self):
        line = self.asking("int cuInit(unsigned); "
                           "__attribute__((weak)) int cuGreenCtxStreamCreate(void);")
        self.assertIsNone(self.found("SY02", line))

    def versioned(self):
        """A library that asks for the version node of a runtime beside it."""
        (self.folder / "node").write_text("libcudart.so.12 { global: cuda*; local: *; };")
        self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }",
                     "-Wl,-soname,libcudart.so.12", f"-Wl,--version-script={self.folder}/node")
        return self.compile("op.so", "int cudaFree(void *); int op(void) { return cudaFree(0); }",
                            "-L", str(self.folder), "-l:libcudart.so.12", "-Wl,-rpath,$ORIGIN")

    def test_versions_of_a_library_that_is_not_needed(self):
        need_program(self, "patchelf")
        library = self.versioned()
        subprocess.run(["patchelf", "--remove-needed", "libcudart.so.12", library], check=True)
        # The loader compares names: the runtime must be there under the one that is asked for.
        user = self.compile("user.so", "int user;", "-L", str(self.folder), "-Wl,--no-as-needed",
                            "-l:libcudart.so.12", "-Wl,-rpath,$ORIGIN")
        found = self.found("SY04", f"load({str(user)!r}, os.RTLD_NOW | os.RTLD_GLOBAL)",
                           f"load({str(library)!r})")
        self.assertEqual(found["severity"], "error")
        self.assertIn("asks for versions of libcudart.so.12", found["headline"])

    def test_versions_of_a_library_that_is_needed(self):
        library = self.versioned()
        self.assertIsNone(self.found("SY04", f"load({str(library)!r})"))


if __name__ == "__main__":
    unittest.main()
