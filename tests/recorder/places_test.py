"""Where the recorder is laid, and what is said where it cannot be."""
import os
import pathlib
import subprocess

import recorded
from recorded import RECEIVER, RecorderCase
from support import need_root

# Runs the rest of its arguments in a mount namespace of its own after some `mount` there.
UNSHARE = ["unshare", "--mount", "--propagation", "private", "sh", "-ec"]


class Places(RecorderCase):
    def setUp(self):
        super().setUp()
        # Its own name must not say "cuda".
        folder = pathlib.Path("/var/tmp") / f"recorder-test-{os.getpid()}"
        folder.mkdir(mode=0o755)
        self.addCleanup(folder.rmdir)
        self.folder = folder
        self.addCleanup(self.empty)

    def empty(self):
        for each in self.folder.iterdir():
            each.unlink() if each.is_file() else each.rmdir()

    def library(self, **env):
        """Where it is laid; what the folder holds meanwhile."""
        recording = self.record("/bin/sh", "-c", "ls -la \"${LD_AUDIT%/*}\"", env=env)
        self.assertFalse(pathlib.Path(recording.library).parent.exists(), "it was left behind")
        return recording.library, recording.out.decode()

    def test_the_users_folder_for_temporary_files_is_the_first(self):
        library, _ = self.library(TMPDIR=str(self.folder))
        self.assertTrue(library.startswith(str(self.folder) + "/doctor-run-"), library)
        self.assertNotIn("cuda", library.lower())

    def test_others_may_use_it_and_not_change_it(self):
        _, listing = self.library()
        modes = {line.split()[-1]: line.split()[0] for line in listing.splitlines()[1:]}
        self.assertEqual(modes["."][:10], "drwx--x--x")
        self.assertEqual(modes["recorder.so"][:10], "-r--r--r--")
        self.assertEqual(modes["socket"][:10], "srw-rw-rw-")

    def test_a_umask_does_not_matter(self):
        recording = self.record("/bin/true", preexec_fn=lambda: os.umask(0o777))
        self.assertEqual(len(recording.records), 1)

    def test_places_that_cannot_be_named_to_the_loader_are_passed_by(self):
        for name in ("my-CUDA-jobs", "with:colon", "with$dollar", "x" * 90):
            with self.subTest(name):
                folder = self.folder / name
                folder.mkdir()
                library, _ = self.library(TMPDIR=str(folder))
                self.assertTrue(library.startswith("/tmp/doctor-run-"), library)
        library, _ = self.library(TMPDIR="relative")
        self.assertTrue(library.startswith("/tmp/doctor-run-"), library)

    def mounted(self, *mounts):
        """The receiver's answer where each (folder, options) is a small file system of its own."""
        need_root(self)
        script = "\n".join(f"mount -t tmpfs -o {options} none {folder}"
                           for folder, options in mounts)
        command = [*UNSHARE, script + '\nexec "$@"', "sh", RECEIVER, "/dev/fd/1", "proceed", "--",
                   "/bin/true"]
        return subprocess.run(command, capture_output=True, text=True, timeout=30,
                              env={"PATH": "/usr/bin:/bin"})

    def test_a_place_from_which_nothing_may_be_loaded(self):
        done = self.mounted(("/tmp", "noexec"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('{"library": "/dev/shm/doctor-run-', done.stdout)

    def test_a_place_that_is_full(self):
        done = self.mounted(("/tmp", "size=4k"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('{"library": "/dev/shm/doctor-run-', done.stdout)

    def test_a_place_that_is_read_only(self):
        done = self.mounted(("/tmp", "ro"))
        self.assertIn('{"library": "/dev/shm/doctor-run-', done.stdout)

    def test_no_place_at_all(self):
        done = self.mounted(("/tmp", "noexec"), ("/dev/shm", "size=4k"), ("/var/tmp", "ro"))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, (
            "no place for the recorder: /tmp: no library may be loaded from it: Operation not "
            "permitted; /dev/shm: the library cannot be written: No space left on device; "
            "/var/tmp: no folder can be made: Read-only file system\n"))


if __name__ == "__main__":
    recorded.main()
