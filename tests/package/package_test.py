"""What is installed and packed: everything is there, needs what it says, and runs from where it was unpacked.

package_test.py BUILD_FOLDER VERSION
"""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, VERSION = sys.argv[1:3]
DOCUMENTS = ("README.md", "CHANGELOG.md", "copyright", "docs/run.md", "docs/findings.md", "docs/report.schema.json")
SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/integrations"

# Below share/: where the shells and man look in Debian.
FOUND_BY_NAME = ("man/man1/cudart-doctor.1.gz", "bash-completion/completions/cudart-doctor",
                 "fish/vendor_completions.d/cudart-doctor.fish")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Installed(unittest.TestCase):
    folder = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        run("cmake", "--install", BUILD, "--prefix", str(cls.folder / "prefix"), "--strip")
        run("cpack", "--config", f"{BUILD}/CPackConfig.cmake", "-G", "DEB;TGZ", "-B", str(cls.folder / "packed"))

    def check_tree(self, prefix, zsh="vendor-completions"):
        binary = prefix / "bin" / "cudart-doctor"
        self.assertEqual(run(str(binary), "--version"), f"cudart-doctor {VERSION}\n")
        for name in DOCUMENTS:
            self.assertTrue((prefix / "share" / "doc" / "cudart-doctor" / name).is_file(), name)
        for name in (*FOUND_BY_NAME, f"zsh/{zsh}/_cudart-doctor"):
            self.assertTrue((prefix / "share" / name).is_file(), name)
        # To copy and to run, whatever the umask of the build was.
        integrations = prefix / "share/doc/cudart-doctor/docs/integrations"
        for name in sorted(str(path.relative_to(SCRIPTS)) for path in SCRIPTS.rglob("*") if path.is_file()):
            mode = 0o755 if os.access(SCRIPTS / name, os.X_OK) else 0o644
            self.assertEqual((name, (integrations / name).stat().st_mode & 0o777), (name, mode))
        page = (prefix / "share" / FOUND_BY_NAME[0]).read_bytes()
        # No name and no time in its head (flags, mtime), best compression (2): as Debian wants it.
        self.assertEqual((page[3], page[4:8], page[8]), (0, bytes(4), 2))
        self.assertIn(b"CUDART\\-DOCTOR 1", gzip.decompress(page))
        return binary

    def test_an_installed_program_runs(self):
        # As below /usr/local.
        self.check_tree(self.folder / "prefix", zsh="site-functions")

    def test_a_tarball_runs_where_it_was_unpacked(self):
        (tarball,) = (self.folder / "packed").glob("*.tar.gz")
        target = self.folder / "unpacked"
        target.mkdir()
        run("tar", "-xf", str(tarball), "-C", str(target), "--strip-components=2")
        self.check_tree(target, zsh="site-functions")

    def test_a_debian_package_needs_the_c_library_and_nothing_else(self):
        (package,) = (self.folder / "packed").glob("*.deb")
        self.assertEqual(run("dpkg-deb", "-f", str(package), "Package", "Version").splitlines(),
                         ["Package: cudart-doctor", f"Version: {VERSION}"])
        needs = run("dpkg-deb", "-f", str(package), "Depends").strip()
        found = re.fullmatch(r"libc6 \(>= 2\.(\d+)\)", needs)
        self.assertIsNotNone(found, needs)
        self.assertLessEqual(int(found[1]), 34)
        target = self.folder / "debian"
        run("dpkg-deb", "-x", str(package), str(target))
        self.check_tree(target / "usr")

    def test_no_version_of_glibc_behind_2_34_is_needed(self):
        binary = self.folder / "prefix" / "bin" / "cudart-doctor"
        versions = {tuple(map(int, each.split(".")))
                    for each in re.findall(r"GLIBC_([0-9.]+)", run("readelf", "--version-info", "--wide", str(binary)))}
        self.assertTrue(versions)
        self.assertLessEqual(max(versions), (2, 34))
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "--dynamic", "--wide", str(binary)))
        self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})

    def test_the_bill_of_materials_has_the_versions_that_dpkg_has(self):
        script = pathlib.Path(__file__).parents[2] / "scripts" / "package_sbom.py"
        made = subprocess.run([sys.executable, str(script), BUILD, f"{BUILD}/cudart-doctor", VERSION], check=True,
                              capture_output=True, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"}).stdout
        versions = {each["name"]: each["versionInfo"] for each in json.loads(made)["packages"]}
        self.assertEqual(set(versions), {"cudart-doctor", "CLI11", "nlohmann_json", "spdlog", "fmt", "tl-expected",
                                         "libstdc++", "libgcc", "libgcc_eh"})
        for name, package in (("CLI11", "libcli11-dev"), ("nlohmann_json", "nlohmann-json3-dev"), ("fmt", "libfmt-dev"),
                              ("spdlog", "libspdlog-dev"), ("tl-expected", "libexpected-dev")):
            self.assertEqual(versions[name], run("dpkg-query", "-W", "-f=${Version}", package), name)


if __name__ == "__main__":
    for tool in ("dpkg-deb", "dpkg-shlibdeps"):
        if shutil.which(tool) is None:
            print(f"skipped: no {tool} here")
            sys.exit(77)
    unittest.main(argv=sys.argv[:1])
