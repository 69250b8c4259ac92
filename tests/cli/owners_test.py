"""Whose file a library is: by records of wheels, conda, dpkg and rpm, in the target's view."""
import importlib.metadata
import json
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess

import support
from support import Case, by_path, clean_environment, doctor, need_program, need_root

CODE = "int cudaFree(void *p) { return p != 0; } int cudaMalloc(void) { return 2; }"


def rpm_header(name, version, release, path):
    """A header as rpm stores it: counts, an index, data; all big-endian."""
    folder, base = os.path.split(path)
    data, entries = b"", []
    for tag, kind, value in ((1000, 6, name), (1001, 6, version), (1002, 6, release),
                             (1117, 8, base), (1118, 8, folder + "/")):
        entries.append(struct.pack(">IIII", tag, kind, len(data), 1))
        data += value.encode() + b"\0"
    data += b"\0" * (-len(data) % 4)
    entries.append(struct.pack(">IIII", 1116, 4, len(data), 1))
    data += struct.pack(">I", 0)
    return struct.pack(">II", len(entries), len(data)) + b"".join(entries) + data


def rpm_database(folder, packages):
    """A database as rpm makes it, as far as file names lead to headers."""
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "rpmdb.sqlite") as database:
        database.execute("CREATE TABLE 'Packages' "
                         "(hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL)")
        database.execute("CREATE TABLE 'Basenames' "
                         "(key 'TEXT' NOT NULL, hnum INTEGER NOT NULL, idx INTEGER NOT NULL)")
        for number, (header, base) in enumerate(packages, 1):
            database.execute("INSERT INTO Packages VALUES (?, ?)", (number, header))
            database.execute("INSERT INTO Basenames VALUES (?, ?, 0)", (base, number))
    database.close()


class Owners(Case):
    def library(self, path):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        made = self.folder / "made.so"
        if not made.exists():
            self.compile(made.name, CODE)
        shutil.copyfile(made, target)
        return target

    def write(self, path, text):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def owner_of(self, path, **options):
        report = self.report("--pid", self.victim(f"load({str(path)!r})", **options).pid)
        found = by_path(report, path)
        return found["owner"], found["owner_reason"], found["unowned"]

    def mounted(self, **folders):
        """Options of a victim that sees our folders in place of the machine's databases."""
        need_root(self)
        need_program(self, "unshare")
        where = {"dpkg": "/var/lib/dpkg", "rpm": "/var/lib/rpm"}
        for name in where:
            if name not in folders:
                folders[name] = self.folder / ("no-" + name)
                folders[name].mkdir()
            pathlib.Path(where[name]).mkdir(parents=True, exist_ok=True)
        mounts = " && ".join(f"mount --bind {folder} {where[name]}"
                             for name, folder in folders.items())
        return {"prefix": ["unshare", "-m", "sh", "-c", mounts + ' && exec "$@"', "sh"]}

    def owner_below_opt(self, path):
        """Of a library of ours that its process sees below /opt, and "lib" at /var/lib."""
        need_root(self)
        need_program(self, "unshare")
        mounts = (f"mount --bind {self.folder}/lib /var/lib && "
                  f"mount --bind {self.folder} /opt && ")
        seen = pathlib.Path("/opt", path.relative_to(self.folder))
        return self.owner_of(seen, prefix=["unshare", "-m", "sh", "-c", mounts + 'exec "$@"', "sh"])

    def test_a_wheel_by_its_record(self):
        path = self.library("lib/python3.11/site-packages/nvidia/cu/lib/libcudart.so.12")
        site = "lib/python3.11/site-packages"
        self.write(f"{site}/other-1.0.dist-info/RECORD", "nvidia/cu/lib/libcudart.so.13,,\n")
        self.write(f"{site}/nvidia_cuda_runtime_cu12-12.8.90.dist-info/RECORD",
                   "nvidia/__init__.py,,0\r\nnvidia/cu/lib/../lib/libcudart.so.12,sha256=x,9\r\n")
        owner, reason, unowned = self.owner_of(path)
        self.assertEqual(owner, {"kind": "wheel", "package": "nvidia-cuda-runtime-cu12",
                                 "version": "12.8.90", "version_reason": None})
        self.assertIsNone(reason)
        self.assertFalse(unowned)

    def test_what_pip_installed_is_what_importlib_says(self):
        """Every wheel of the fixtures: the RECORD that Python reads names the library."""
        for version, (name, inner) in support.RUNTIMES.items():
            with self.subTest(version):
                source = support.fixture(self, name, inner)
                site = self.folder / version / "site-packages"
                info = next(source.parents[len(pathlib.Path(inner).parts) - 1].glob("*.dist-info"))
                shutil.copytree(info, site / info.name)
                path = self.library(f"{version}/site-packages/{inner}")
                known = [each for each in importlib.metadata.distributions(path=[str(site)])
                         if any(str(file) == inner for file in each.files)]
                owner, _, _ = self.owner_of(path)
                self.assertEqual([(each.metadata["Name"], each.version) for each in known],
                                 [(owner["package"], owner["version"])])

    def test_a_link_has_the_owner_of_the_file_that_it_leads_to(self):
        file = self.library("site-packages/pkg/libcudart.so.12")
        self.write("site-packages/pkg-1.0.dist-info/RECORD", "pkg/libcudart.so.12,,\n")
        link = self.folder / "links" / file.name
        link.parent.mkdir()
        link.symlink_to(file)
        environment = {**clean_environment(), "LD_LIBRARY_PATH": str(link.parent)}
        pid = self.victim(f"load({str(file)!r})", env=environment).pid
        kept = doctor("snapshot", "--pid", pid, "--dir", self.folder / "kept")
        self.assertEqual(kept.code, 0, kept.message)
        owners = dict(json.loads((self.folder / "kept" / "snapshot.json").read_text())["owners"])
        self.assertEqual(owners[str(link)], owners[str(file)])
        self.assertEqual(owners[str(link)]["known"]["package"], "pkg")

    def test_a_distribution_without_a_record_may_be_the_owner(self):
        path = self.library("site-packages/pkg/libcudart.so.12")
        for name in ("pkg-1.0.egg-info", "pkg-1.0.dist-info"):
            with self.subTest(name):
                made = self.write(f"site-packages/{name}/METADATA", "")
                owner, reason, unowned = self.owner_of(path)
                self.assertIsNone(owner)
                self.assertIn("keeps no list of its files", reason)
                self.assertFalse(unowned)
                shutil.rmtree(made.parent)

    def test_a_file_that_no_record_lists_has_no_owner(self):
        path = self.library("site-packages/pkg/libcudart.so.12")
        self.write("site-packages/pkg-1.0.dist-info/RECORD", "pkg/__init__.py,,\n")
        self.write("lib/dpkg/info/a.list", "/.\n/usr\n")
        self.assertEqual(self.owner_below_opt(path),
                         (None, "the package databases were read, and none lists the path", True))

    def assert_open(self, found, why):
        owner, reason, unowned = found
        self.assertIsNone(owner)
        self.assertIn(why, reason)
        self.assertFalse(unowned)

    def test_a_directory_that_is_left_to_users_is_not_sought_in_all_packages(self):
        path = self.library("libcudart.so.12")
        info = self.write("dpkg/info/a.list", "/.\n/usr\n").parent
        self.assert_open(self.owner_of(path, **self.mounted(dpkg=info.parent)),
                         "only packages whose names speak of CUDA were asked")

    def test_a_database_without_a_package_proves_nothing(self):
        path = self.library("libcudart.so.12")
        rpm_database(self.folder / "lib/rpm", [])
        self.write("lib/dpkg/info/a.list", "")
        self.assert_open(self.owner_below_opt(path), "list nothing")

    def test_a_database_that_is_not_read_leaves_the_owner_open(self):
        path = self.library("libcudart.so.12")
        self.write("lib/dpkg/info/a.list", "/.\n")
        self.write("lib/pacman/local/cuda-12.8-1/files", "")
        self.assert_open(self.owner_below_opt(path), "records of pacman are not read")

    def test_lists_that_are_no_directory_leave_the_owner_open(self):
        path = self.library("libcudart.so.12")
        rpm_database(self.folder / "lib/rpm", [(rpm_header("a", "1", "1", "/bin/ls"), "ls")])
        self.write("lib/dpkg/info", "")
        self.assert_open(self.owner_below_opt(path),
                         "/var/lib/dpkg/info: it is a regular file")

    def test_a_message_names_the_path_once(self):
        path = self.library("libcudart.so.12")
        (self.folder / "lib/rpm/rpmdb.sqlite").mkdir(parents=True)
        _, reason, _ = self.owner_below_opt(path)
        self.assertEqual(reason, "/var/lib/rpm/rpmdb.sqlite: not opened, it is a directory")

    def test_records_too_large_to_read_do_not_cost_the_inspection(self):
        path = self.library("env/site-packages/pkg/libcudart.so.12")
        record = self.write("env/conda-meta/cuda-0.json", "")
        os.truncate(record, 1 << 40)
        for i in range(400):
            os.link(record, record.with_name(f"cuda-{i + 1}.json"))
            info = self.folder / f"env/site-packages/pkg-{i}.dist-info"
            info.mkdir()
            os.link(record, info / "RECORD")
        self.assert_open(self.owner_of(path), "larger than 64 MiB")

    def test_an_rpm_database_that_grows_while_it_is_followed_is_given_up(self):
        """Two pages of 32000 children each, in a sparse file that could hold as many."""
        path = self.library("libcudart.so.12")
        size, cells = 65536, 32000
        pages = b""
        for header in (100, 0):
            page = bytearray(size)
            page[:16 if header else 0] = b"SQLite format 3\0" if header else b""
            struct.pack_into(">H", page, 16 if header else size - 2, 1 if header else 0)
            struct.pack_into(">BHHHBI", page, header, 5, 0, cells, 0, 0, 2)
            struct.pack_into(">IB", page, size - 16, 2, 1)
            struct.pack_into(f">{cells}H", page, header + 12, *[size - 16] * cells)
            pages += bytes(page)
        database = self.folder / "lib/rpm/rpmdb.sqlite"
        database.parent.mkdir(parents=True)
        database.write_bytes(pages)
        os.truncate(database, size * 2000000)
        self.assert_open(self.owner_below_opt(path), "more than 512 MiB to read")

    def test_conda_by_its_metadata_and_not_by_the_record_that_it_keeps_too(self):
        path = self.library("env/lib/python3.11/site-packages/pkg/libcudart.so.12")
        inner = str(path.relative_to(self.folder / "env"))
        site = "env/lib/python3.11/site-packages"
        self.write(f"{site}/pkg-1.0.dist-info/RECORD", "pkg/libcudart.so.12,,\n")
        self.write(f"{site}/pkg-1.0.dist-info/INSTALLER", "conda\n")
        self.write("env/conda-meta/history", "")
        self.write("env/conda-meta/zlib-1-0.json", "{libcudart no json")
        self.write("env/conda-meta/cuda-cudart-12.4.127-0.json",
                   json.dumps({"name": "cuda-cudart", "version": "12.4.127", "files": [inner]}))
        owner, _, _ = self.owner_of(path)
        self.assertEqual((owner["kind"], owner["package"], owner["version"]),
                         ("conda", "cuda-cudart", "12.4.127"))

    def test_dpkg_in_the_targets_view(self):
        path = self.library("cuda/lib64/libcudart.so.12")
        self.write("dpkg/info/cuda-cudart-12-8:amd64.list", f"/.\n{path}\n")
        self.write("dpkg/status", "Package: cuda-cudart-12-8\nArchitecture: amd64\n"
                                  "Version: 12.8.90-1\n\n")
        options = self.mounted(dpkg=self.folder / "dpkg")
        owner, _, _ = self.owner_of(path, **options)
        self.assertEqual((owner["kind"], owner["package"], owner["version"]),
                         ("dpkg", "cuda-cudart-12-8", "12.8.90-1"))
        self.assertNotEqual(self.owner_of(path)[0], owner)

    def test_dpkg_says_the_same_of_the_files_of_this_machine(self):
        """A runtime is mounted over libraries that dpkg owns, one of them listed below /lib."""
        need_root(self)
        need_program(self, "dpkg-query")
        runtime = self.library("libcudart.so.12")
        asked = 0
        for package in ("libcom-err2", "libgmp10", "libkeyutils1"):
            shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                                   capture_output=True, text=True)
            listed = subprocess.run(["dpkg-query", "-L", package], capture_output=True, text=True)
            files = [pathlib.Path(line) for line in listed.stdout.splitlines() if ".so." in line]
            for path in [each.resolve() for each in files if not each.is_symlink()]:
                with self.subTest(path):
                    prefix = ["unshare", "-m", "sh", "-c",
                              f'mount --bind {runtime} {path} && exec "$@"', "sh"]
                    owner, _, _ = self.owner_of(path, prefix=prefix)
                    self.assertEqual((owner["kind"], owner["package"], owner["version"]),
                                     ("dpkg", package, shown.stdout))
                    asked += 1
        if asked == 0:
            self.skipTest("none of the packages is installed")

    def test_an_image_without_dpkg_keeps_checksums(self):
        path = self.library("cuda/lib64/libcudart.so.12")
        self.write("dpkg/status.d/cuda-cudart", "Package: cuda-cudart\nVersion: 12.8\n")
        self.write("dpkg/status.d/cuda-cudart.md5sums", f"{'0' * 32}  {str(path)[1:]}\n")
        owner, _, _ = self.owner_of(path, **self.mounted(dpkg=self.folder / "dpkg"))
        self.assertEqual((owner["kind"], owner["package"], owner["version"]),
                         ("dpkg", "cuda-cudart", "12.8"))

    def test_rpm_by_its_database(self):
        path = self.library("cuda/lib64/libcudart.so.12")
        noise = [(rpm_header(f"p{i}", "1", "1", f"/usr/lib/file{i}"), f"file{i}")
                 for i in range(2000)]
        rpm_database(self.folder / "rpm", [
            *noise,
            (rpm_header("other", "1", "1", "/elsewhere/libcudart.so.12"), path.name),
            (rpm_header("cuda-cudart-12-8", "12.8.90", "1", str(path)), path.name)])
        owner, _, _ = self.owner_of(path, **self.mounted(rpm=self.folder / "rpm"))
        self.assertEqual((owner["kind"], owner["package"], owner["version"]),
                         ("rpm", "cuda-cudart-12-8", "12.8.90-1"))

    def test_an_rpm_database_that_cannot_be_read_leaves_the_owner_open(self):
        path = self.library("cuda/lib64/libcudart.so.12")
        (self.folder / "old").mkdir()
        self.write("old/Packages", "x")
        rpm_database(self.folder / "logged", [])
        self.write("logged/rpmdb.sqlite-wal", "x")
        self.write("broken/rpmdb.sqlite", "SQLite format 3")
        for name, why in (("old", "an rpm database of an older format"),
                          ("logged", "unfinished change"), ("broken", "the file is none")):
            with self.subTest(name):
                for each in ("no-dpkg", "no-rpm"):
                    shutil.rmtree(self.folder / each, ignore_errors=True)
                options = self.mounted(rpm=self.folder / name)
                owner, reason, unowned = self.owner_of(path, **options)
                self.assertIsNone(owner)
                self.assertIn(why, reason)
                self.assertFalse(unowned)

    def test_without_a_database_nothing_is_said(self):
        path = self.library("cuda/lib64/libcudart.so.12")
        self.assertEqual(self.owner_of(path, **self.mounted()),
                         (None, "dpkg's and rpm's databases are not there, or list nothing", False))

    def test_an_rpm_database_that_rpm_made(self):
        for program in ("rpm", "rpmbuild"):
            if shutil.which(program) is None:
                self.skipTest(program + " is not installed")
        path = self.library("built/cuda/lib64/libcudart.so.12")
        spec = self.write("a.spec", f"""Name: cuda-cudart-12-8
Version: 12.8.90
Release: 3
Summary: a
License: a
BuildArch: noarch
AutoReqProv: no
%description
a
%install
mkdir -p %{{buildroot}}{path.parent}
for i in $(seq 1 3000); do echo $i > %{{buildroot}}{path.parent}/file$i; done
echo text > %{{buildroot}}{path}
%files
{path.parent}
""")
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["rpmbuild", "-bb", "--define", f"_topdir {self.folder}/rb",
                        spec], **quiet)
        package = next((self.folder / "rb").rglob("*.rpm"))
        root = self.folder / "root"
        (root / "var/lib/rpm").mkdir(parents=True)
        subprocess.run(["rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--nodeps", "-i",
                        package], **quiet)
        asked = subprocess.run(["rpm", "--root", root, "--dbpath", "/var/lib/rpm", "-qf",
                                "--queryformat", "%{NAME} %{VERSION}-%{RELEASE}", path],
                               check=True, capture_output=True, text=True)
        owner, _, _ = self.owner_of(path, **self.mounted(rpm=root / "var/lib/rpm"))
        self.assertEqual(asked.stdout, f"{owner['package']} {owner['version']}")

    def test_what_to_do_names_the_package(self):
        path = self.library("site-packages/pkg/libcudart.so.12")
        self.write("site-packages/pkg-1.0.dist-info/RECORD", "pkg/libcudart.so.12,,\n")
        victim = self.victim(f"load({str(path)!r})")
        path.unlink()
        text = doctor("--pid", victim.pid, env=clean_environment()).text
        self.assertIn("pip install --force-reinstall", text)
        self.assertIn("pkg==1.0", text)

    def test_two_versions_that_list_a_file_leave_its_version_open(self):
        path = self.library("site-packages/pkg/libcudart.so.12")
        for version in ("1.0", "2.0"):
            self.write(f"site-packages/pkg-{version}.dist-info/RECORD", "pkg/libcudart.so.12,,\n")
        victim = self.victim(f"load({str(path)!r})")
        report = self.report("--pid", victim.pid)
        owner = by_path(report, path)["owner"]
        self.assertEqual((owner["package"], owner["version"]), ("pkg", None))
        self.assertIn("do not agree", owner["version_reason"])
        self.assertIn(f"{path}: records of pkg 1.0 and 2.0 both list it",
                      report["capture"]["notes"])
        path.unlink()
        text = doctor("--pid", victim.pid, "-v").text
        self.assertNotIn("install --force-reinstall", text)

    def test_a_status_that_cannot_be_read_leaves_the_version_open_and_says_so(self):
        path = self.library("libcudart.so.12")
        self.write("lib/dpkg/info/cuda.list", "/opt/libcudart.so.12\n")
        (self.folder / "lib/dpkg/status").mkdir()
        mounts = (f"mount --bind {self.folder}/lib /var/lib && "
                  f"mount --bind {self.folder} /opt && exec \"$@\"")
        need_root(self)
        need_program(self, "unshare")
        victim = self.victim("load('/opt/libcudart.so.12')",
                             prefix=["unshare", "-m", "sh", "-c", mounts, "sh"])
        report = self.report("--pid", victim.pid)
        owner = by_path(report, "/opt/" + path.name)["owner"]
        self.assertEqual((owner["package"], owner["version"]), ("cuda", None))
        self.assertIn("could not be read", owner["version_reason"])
        self.assertIn("versions of Debian packages are not known: /var/lib/dpkg/status: "
                      "not opened, it is a directory", report["capture"]["notes"])

    def test_a_hostile_name_is_no_command(self):
        path = self.library("site-packages/pkg/libcudart.so.12")
        self.write("site-packages/pkg; rm -rf $HOME #\x1b[2J-1.0.dist-info/RECORD",
                   "pkg/libcudart.so.12,,\n")
        victim = self.victim(f"load({str(path)!r})")
        path.unlink()
        ended = doctor("--pid", victim.pid, "-v")
        self.assertIn("reinstall its package", " ".join(ended.text.split()))
        self.assertNotIn("\x1b", ended.text)
        self.assertNotIn("install --force-reinstall", ended.text)


if __name__ == "__main__":
    support.main()
