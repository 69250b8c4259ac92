"""Links, pipes and devices where a file or a folder is expected: none is followed out of its place, waited for, or
written through."""
import json
import os
import shutil
import subprocess
import time

import support
from support import NOBODY, SOURCE, Case, doctor, need_root

QUICK_S = 10
GOLDEN = SOURCE / "tests/golden/stub_first"


def to_secret(path, secret):
    path.symlink_to(secret)


FORMS = {
    "a pipe": lambda path, secret: os.mkfifo(path),
    "an endless device": lambda path, secret: path.symlink_to("/dev/zero"),
    "a terminal": lambda path, secret: path.symlink_to("/dev/tty"),
    "a link out of the folder": lambda path, secret: path.symlink_to(secret),
    "a link to itself": lambda path, secret: path.symlink_to(path.name),
    "a folder": lambda path, secret: path.mkdir(),
    "a file too large": lambda path, secret: (path.touch(), os.truncate(path, 300 << 20)),
}


class Given(Case):
    """What somebody else made and we read: snapshots and reports."""

    def setUp(self):
        super().setUp()
        self.secret = self.folder / "secret"
        shutil.copyfile(GOLDEN / "snapshot.json", self.secret)

    def refused(self, *command):
        begin = time.monotonic()
        ended = doctor(*command, "--timeout", "5")
        self.assertLess(time.monotonic() - begin, QUICK_S)
        self.assertIn(ended.code, (2, 3), ended.text)
        self.assertEqual(ended.out, b"")
        self.assertTrue(ended.message)
        return ended.message

    def test_a_part_of_a_snapshot_that_is_no_file(self):
        for part in ("snapshot.json", "maps"):
            for name, make in FORMS.items():
                with self.subTest(part, form=name):
                    folder = self.folder / "given"
                    shutil.rmtree(folder, ignore_errors=True)
                    shutil.copytree(GOLDEN, folder)
                    (folder / part).unlink()
                    make(folder / part, self.secret)
                    for command in (["--from", folder], ["explain", "RT05", "--from", folder], ["diff", folder, GOLDEN]):
                        self.assertIn(part, self.refused(*command))

    def test_a_snapshot_that_is_no_folder(self):
        for name, make in FORMS.items():
            if name == "a folder":
                continue
            with self.subTest(name):
                place = self.folder / "given"
                place.unlink(missing_ok=True)
                make(place, self.secret)
                self.assertIn("given", self.refused("--from", place))

    def test_a_report_that_is_no_file(self):
        """A pipe is one that a shell may have made: its writer is waited for, until the deadline."""
        for name, make in FORMS.items():
            if name == "a link out of the folder":
                continue
            with self.subTest(name):
                place = self.folder / "given"
                if place.is_dir() and not place.is_symlink():
                    place.rmdir()
                place.unlink(missing_ok=True)
                make(place, self.secret)
                self.assertIn("given", self.refused("diff", place, GOLDEN))


class Written(Case):
    """Places that another user of the machine prepared for what root writes."""

    def setUp(self):
        super().setUp()
        need_root(self)
        self.ours = self.folder / "ours"
        self.ours.mkdir()
        self.process = self.victim()

    def laid(self, name, target):
        """Another user's link."""
        link = self.folder / name
        link.symlink_to(target)
        os.lchown(link, NOBODY, NOBODY)
        return link

    def assert_refused(self, link, *command):
        for place in (str(link), f"{link}/"):
            ended = doctor(*[place if each is link else each for each in command])
            self.assertEqual(ended.code, 2, ended.text)
            self.assertIn("symbolic link", ended.message)
            self.assertEqual(ended.out, b"")
        self.assertEqual(list(self.ours.iterdir()), [])
        self.assertFalse((self.folder / "new").exists())

    def test_a_snapshot_through_anothers_link(self):
        for target in ("ours", "new"):
            with self.subTest(target):
                link = self.laid("to-" + target, target)
                self.assert_refused(link, "snapshot", "--pid", self.process.pid, "--dir", link)

    def test_a_recording_through_anothers_link(self):
        for target in ("ours", "new"):
            with self.subTest(target):
                link = self.laid("to-" + target, target)
                self.assert_refused(link, "run", "--record", link, "--", "echo", "started")

    def assert_nothing_written(self, *command):
        ended = doctor(*command)
        self.assertEqual((ended.code, ended.out), (2, b""), ended.message)
        self.assertEqual(list(self.ours.iterdir()), [])
        return ended.message

    def test_anothers_link_in_the_middle_of_the_path(self):
        link = self.laid("to-ours", "ours")
        self.laid("round", "round")
        for command in (["--from", GOLDEN, "-o"], ["snapshot", "--pid", self.process.pid, "--dir"]):
            for place in (link / "report", link / "../to-ours/report", f"{self.folder}//to-ours/./report"):
                message = self.assert_nothing_written(*command, place)
                self.assertIn("to-ours is a symbolic link of another user", message)
            self.assertIn("round", self.assert_nothing_written(*command, self.folder / "round/report"))
        for option in ("-o", "--record"):
            self.assertIn("to-ours is a symbolic link", self.assert_nothing_written("run", option, link / "kept", "--", "echo", "started"))

    def test_a_link_in_the_middle_that_is_laid_meanwhile(self):
        """A folder of ours and another user's link to one, by turns while reports are written below it."""
        swap = subprocess.Popen(["sh", "-c", 'cd "$1"; mkdir sub; while :; do ln -s ours l; chown -h 65534:65534 l; mv -T sub kept; mv -T l sub; '
                                             'rm sub; mv -T kept sub; done', "sh", self.folder])
        try:
            codes = {doctor("--from", GOLDEN, "--json", "-o", self.folder / "sub/report").code for _ in range(60)}
        finally:
            swap.kill()
            swap.wait()
        self.assertLessEqual(codes, {1, 2})
        self.assertIn(1, codes, "no report was written at all")
        self.assertEqual(list(self.ours.iterdir()), [])
        self.assertEqual(list(self.folder.glob("**/.cudart-doctor*")), [])

    def shared_folder(self):
        """As /tmp is: all may write to it, and each keeps what is his."""
        folder = self.folder / "shared"
        folder.mkdir()
        folder.chmod(0o1777)
        return folder

    def test_what_another_user_laid_into_a_shared_folder_is_not_used(self):
        """Whoever owns a file can read and change what is written to it, whatever its mode."""
        shared = self.shared_folder()
        report, pipe, kept = shared / "report", shared / "pipe", shared / "kept"
        report.write_text("theirs")
        report.chmod(0o666)
        os.mkfifo(pipe)
        kept.mkdir()
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        for each in (report, pipe, kept):
            os.chown(each, NOBODY, NOBODY)
        for place in (report, pipe):
            self.assertIn("another user's, in a folder to which all may write", self.assert_nothing_written("--from", GOLDEN, "-o", place))
        self.assertEqual(report.read_text(), "theirs")
        self.assertEqual(os.read(reader, 1), b"")
        for command in (["snapshot", "--pid", self.process.pid, "--dir", kept], ["run", "--record", kept, "--", "echo", "started"]):
            self.assertIn("another user's, in a folder to which all may write", self.assert_nothing_written(*command))
        self.assertEqual(list(kept.iterdir()), [])

    def test_ones_own_in_a_shared_folder_is_used(self):
        shared = self.shared_folder()
        (shared / "report").write_text("old")
        (shared / "kept").mkdir()
        self.assertEqual(doctor("--from", GOLDEN, "-o", shared / "report").code, 1)
        self.assertNotEqual((shared / "report").read_text(), "old")
        self.assertEqual(doctor("snapshot", "--pid", self.process.pid, "--dir", shared / "kept").code, 0)

    def test_the_systems_links_are_followed_where_root_has_no_number(self):
        """In a user namespace that has no root, what is root's looks as if it were nobody's."""
        theirs, way = self.folder / "theirs", self.folder / "way"
        theirs.mkdir()
        os.chown(theirs, 1234, 1234)
        way.symlink_to("theirs")
        inside = ["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups", "unshare", "--user", "--map-current-user"]
        if subprocess.run([*inside, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("user namespaces are not allowed here")
        self.assertEqual(doctor("--from", GOLDEN, "-o", way / "report", program=[*inside, support.DOCTOR]).code, 1)
        self.assertEqual([each.name for each in theirs.iterdir()], ["report"])
        # A stranger's link stays one: all may write to the folder that it lies in.
        shared = self.shared_folder()
        link = shared / "link"
        link.symlink_to(theirs)
        os.lchown(link, 4321, 4321)
        ended = doctor("--from", GOLDEN, "-o", link / "other", program=[*inside, support.DOCTOR])
        self.assertEqual(ended.code, 2, ended.message)
        self.assertIn("symbolic link of another user", ended.message)
        # Its owner and the folder's look alike, and are two.
        report = shared / "report"
        report.write_text("theirs")
        report.chmod(0o666)
        os.chown(report, 4321, 4321)
        ended = doctor("--from", GOLDEN, "-o", report, program=[*inside, support.DOCTOR])
        self.assertEqual(ended.code, 2, ended.message)
        self.assertEqual(report.read_text(), "theirs")

    def test_ones_own_link_is_followed(self):
        link = self.folder / "mine"
        link.symlink_to("ours")
        self.assertEqual(doctor("snapshot", "--pid", self.process.pid, "--dir", link).code, 0)
        self.assertEqual(sorted(each.name for each in self.ours.iterdir()), ["maps", "snapshot.json"])

    def test_a_link_in_place_of_a_snapshots_file_is_not_written_through(self):
        """Laid between the look at the folder and the file: it is there before, and the folder is not empty."""
        target = self.folder / "target"
        target.write_text("ours")
        (self.ours / "maps").symlink_to(target)
        self.assertEqual(doctor("snapshot", "--pid", self.process.pid, "--dir", self.ours).code, 2)
        self.assertEqual(target.read_text(), "ours")

    def test_a_report_is_not_written_through_a_link_that_is_laid_meanwhile(self):
        """The name is a file, nothing, or another user's link to ours, by turns while reports are written to it."""
        target, place = self.folder / "target", self.folder / "report"
        target.write_text("ours")
        swap = subprocess.Popen(["sh", "-c", 'cd "$1"; while :; do ln -s target l 2>/dev/null; chown -h 65534:65534 l; mv -T l report; '
                                             'echo x >f; mv -T f report; rm -f report; done', "sh", self.folder])
        try:
            for _ in range(60):
                ended = doctor("--from", GOLDEN, "--json", "-o", place)
                self.assertIn(ended.code, (1, 2), ended.message)
                self.assertEqual(target.read_text(), "ours")
        finally:
            swap.kill()
            swap.wait()


if __name__ == "__main__":
    support.main()
