"""Where the report goes: -o, standard output, and when it is coloured."""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import threading
import time

import support
from support import Case, DOCTOR, NOBODY, clean_environment, doctor, need_root


class ReportCase(Case):
    """A snapshot, so that every run gives the same bytes."""

    def setUp(self):
        super().setUp()
        victim = self.victim()
        self.snapshot = self.folder / "snapshot"
        self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", self.snapshot).code, 0)
        victim.end()
        ended = doctor("--from", self.snapshot)
        self.expected, self.code = ended.out, ended.code

    def write(self, target, **options):
        return doctor("--from", self.snapshot, "-o", target, **options)

    def assert_written(self, target):
        ended = self.write(target)
        self.assertEqual((ended.code, ended.out, ended.err), (self.code, b"", b""))
        self.assertEqual(pathlib.Path(target).read_bytes(), self.expected)

    def assert_refused(self, target, text, **options):
        ended = self.write(target, **options)
        self.assertEqual((ended.code, ended.out), (2, b""))
        self.assertIn(str(target), ended.message)
        self.assertIn(text, ended.message)

    def listing(self, folder=None):
        return sorted(os.listdir(folder or self.folder))


class OutputFile(ReportCase):
    def test_a_new_file_has_the_usual_mode(self):
        before = self.listing()
        target = self.folder / "report"
        old = os.umask(0o027)
        self.addCleanup(os.umask, old)
        self.assert_written(target)
        self.assertEqual(target.stat().st_mode & 0o7777, 0o640)
        self.assertEqual(self.listing(), sorted([*before, "report"]))

    def test_a_relative_name(self):
        ended = self.write("report", cwd=self.folder)
        self.assertEqual(ended.code, self.code)
        self.assertEqual((self.folder / "report").read_bytes(), self.expected)

    def test_the_longest_name(self):
        self.assert_written(self.folder / ("n" * 255))

    def test_a_reader_keeps_the_old_report(self):
        target = self.folder / "report"
        target.write_text("old")
        target.chmod(0o604)
        with open(target) as reader:
            self.assert_written(target)
            self.assertEqual(reader.read(), "old")
        self.assertEqual(target.stat().st_mode & 0o7777, 0o604)

    def test_root_does_not_take_a_file_from_its_owner(self):
        need_root(self)
        target = self.folder / "report"
        target.write_text("old")
        os.chown(target, NOBODY, NOBODY)
        self.assert_written(target)
        self.assertEqual((target.stat().st_uid, target.stat().st_gid), (NOBODY, NOBODY))

    def test_another_users_link_is_not_followed(self):
        need_root(self)
        real = self.folder / "real"
        real.write_text("ours")
        link = self.folder / "link"
        link.symlink_to("real")
        os.lchown(link, NOBODY, NOBODY)
        self.assert_refused(link, "symbolic link")
        self.assertEqual(real.read_text(), "ours")

    def test_special_mode_bits_are_not_taken_over(self):
        target = self.folder / "report"
        target.write_text("old")
        target.chmod(0o4755)
        self.assert_written(target)
        self.assertEqual(target.stat().st_mode & 0o7777, 0o755)

    def test_a_file_size_limit_leaves_nothing_behind(self):
        before = sorted(os.listdir(self.folder))
        ended = subprocess.run(["bash", "-c", f"ulimit -f 1; exec {DOCTOR} --json-schema -o {self.folder}/r"],
                               capture_output=True, check=False)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn(b"File too large", ended.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_a_link_stays_a_link(self):
        real = self.folder / "real"
        link = self.folder / "link"
        link.symlink_to("real")
        for old in (None, "old"):  # To nothing, then to a file.
            if old:
                real.write_text(old)
            self.assert_written(link)
            self.assertTrue(link.is_symlink())
            self.assertEqual(real.read_bytes(), self.expected)

    def test_a_directory_and_a_missing_folder_are_refused(self):
        self.assert_refused(self.folder, "Is a directory")
        self.assert_refused(self.folder / "no/report", "No such file or directory")
        self.assert_refused("/dev/full", "No space left on device")
        self.assert_refused("", "cannot write")

    def test_a_folder_without_the_right_to_write(self):
        need_root(self)
        before = self.listing()
        for name in ("snapshot", "snapshot/maps", "snapshot/snapshot.json"):
            os.chmod(self.folder / name, 0o755)
        self.assert_refused(self.folder / "report", "Permission denied", user=NOBODY)
        self.assertEqual(self.listing(), before)
        # A container's termination log: the file may be written, its folder not.
        log = self.folder / "log"
        log.write_text("x" * 100000)
        log.chmod(0o666)
        self.assertEqual(self.write(log, user=NOBODY).code, self.code)
        self.assertEqual(log.read_bytes(), self.expected)

    def test_a_pipe_is_written_in_place(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        got = []
        reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
        reader.start()
        ended = self.write(fifo)
        reader.join(10)
        self.assertEqual((ended.code, got), (self.code, [self.expected]))
        self.assertTrue(fifo.is_fifo())

    def test_a_failure_in_json_goes_to_the_file_too(self):
        target = self.folder / "report"
        ended = doctor("--json", "--from", self.folder / "nothing", "-o", target)
        self.assertEqual((ended.code, ended.out), (2, b""))
        self.assertIn(b'"error"', target.read_bytes())


    def test_the_kernels_own_links_lead_where_they_lead(self):
        victim = self.victim()
        self.assert_written(f"/proc/{victim.pid}/root{self.folder}/report")
        for command in ("cat", f"cat >{self.folder}/copy"):
            done = subprocess.run(["bash", "-c", f'set -o pipefail; "$1" --from "$2" -o /dev/stdout | {command}', "bash", DOCTOR, self.snapshot],
                                  capture_output=True, timeout=30, env=clean_environment(), check=False)
            self.assertEqual((done.returncode, done.stderr), (self.code, b""))
        self.assertEqual((self.folder / "copy").read_bytes(), self.expected)
        target = self.folder / "file"
        with open(target, "wb") as file:
            done = subprocess.run([DOCTOR, "--from", self.snapshot, "-o", "/dev/stdout"], stdout=file, timeout=30, check=False,
                                  env=clean_environment())
        self.assertEqual((done.returncode, target.read_bytes()), (self.code, self.expected))


class Mounts(ReportCase):
    def in_namespace(self, script, *arguments):
        need_root(self)
        support.need_program(self, "unshare")
        return subprocess.run(["unshare", "-m", "sh", "-ec", script, "sh", *map(str, arguments)],
                              capture_output=True, timeout=30)

    def test_a_mounted_file_is_written_in_place(self):
        target, behind = self.folder / "log", self.folder / "behind"
        target.write_text("")
        behind.write_text("old, and longer than the report" * 1000)
        done = self.in_namespace('mount --bind "$1" "$2"; "$3" --from "$4" -o "$2"',
                                 behind, target, DOCTOR, self.snapshot)
        self.assertEqual((done.returncode, done.stderr), (self.code, b""))
        self.assertEqual(behind.read_bytes(), self.expected)
        self.assertNotIn("tmp", " ".join(self.listing()))

    def test_a_full_disk_leaves_the_old_report(self):
        place = self.folder / "disk"
        place.mkdir()
        done = self.in_namespace(
            'mount -t tmpfs -o size=64k none "$1"; echo old >"$1/report"; '
            'dd if=/dev/zero of="$1/rest" bs=1k 2>/dev/null || :; '
            'code=0; "$2" --from "$3" -o "$1/report" || code=$?; '
            'cat "$1/report"; ls -A "$1"; exit $code', place, DOCTOR, self.snapshot)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, b"old\nreport\nrest\n")
        self.assertIn(b"No space left on device", done.stderr)

    def test_a_read_only_disk(self):
        place = self.folder / "disk"
        place.mkdir()
        done = self.in_namespace('mount -t tmpfs -o ro none "$1"; "$2" --from "$3" -o "$1/report"',
                                 place, DOCTOR, self.snapshot)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"Read-only file system", done.stderr)


class StandardOutput(ReportCase):
    def shell(self, command):
        done = subprocess.run(["bash", "-c", command, "bash", DOCTOR, self.snapshot],
                              capture_output=True, timeout=30, env=clean_environment())
        return done.returncode, done.stdout, done.stderr

    def test_a_reader_that_leaves_makes_no_noise(self):
        for options in ("", "--json -v"):
            code, out, err = self.shell(f'"$1" --from "$2" {options} | head -c1; '
                                        'exit ${PIPESTATUS[0]}')
            self.assertEqual((code, len(out), err), (self.code, 1, b""))
        # Even one that was gone before.
        code, _, err = self.shell('"$1" --from "$2" 1> >(exec <&-; exec sleep 0); exit $?')
        self.assertEqual((code, err), (self.code, b""))

    def test_a_full_or_closed_standard_output_is_an_error(self):
        code, _, err = self.shell('"$1" --from "$2" >/dev/full')
        self.assertEqual(code, 2)
        self.assertIn(b"standard output: No space left on device", err)
        for closed in (">&-", ">&- <&-"):
            code, _, err = self.shell(f'"$1" --from "$2" {closed}')
            self.assertEqual(code, 2)
            self.assertIn(b"standard output: Bad file descriptor", err)
        for command in ("--help", "--version", "policies"):
            code, _, _ = self.shell(f'"$1" {command} >/dev/full')
            self.assertEqual(code, 2, command)

    def test_an_error_stream_that_nobody_reads_keeps_no_exit_code_back(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        self.addCleanup(os.close, write)
        os.set_blocking(write, False)
        try:
            while True:
                os.write(write, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(write, True)
        for command, code in ((["--pid", "999999999"], 3), (["--no-such-option"], 2), (["--from", self.folder / "no", "--json"], 2),
                              (["run", "--timeout", "2", "--", "sh", "-c", "exit 7"], 7)):
            began = time.monotonic()
            done = subprocess.run([DOCTOR, *map(str, command)], stdout=subprocess.DEVNULL, stderr=write, timeout=60, check=False,
                                  env=clean_environment())
            self.assertEqual(done.returncode, code, command)
            self.assertLess(time.monotonic() - began, 15, command)

    def test_closed_input_and_error_streams_change_nothing(self):
        for closed in ("<&-", "2>&-", "<&- 2>&-"):
            self.assertEqual(self.shell(f'"$1" --from "$2" {closed}')[:2],
                             (self.code, self.expected), closed)
        # With a worker and its pipes, whose numbers would be free ones.
        code, out, _ = self.shell('"$1" --pid $$ --json 2>&- <&-')
        self.assertIn(code, (0, 1))
        self.assertTrue(out.startswith(b"{") and out.endswith(b"}\n"))


class Colour(ReportCase):
    def on_terminal(self, *arguments, **changes):
        return b"\x1b[" in self.shown(*arguments, **changes)

    def shown(self, *arguments, columns=0, **changes):
        return self.told(["--from", self.snapshot, *arguments], self.code, columns, **changes)

    def told(self, command, code, columns, **changes):
        """What a terminal of so many columns (0: it does not say) gets."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        with subprocess.Popen([DOCTOR, *command], stdin=slave,
                              stdout=slave, stderr=slave,
                              env=clean_environment(**{"TERM": "xterm", **changes})) as process:
            os.close(slave)
            out = b""
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:  # EIO: the other side is closed.
                    break
                out += part
            os.close(master)
        self.assertEqual(process.returncode, code)
        return out

    def widest(self, out):
        return max(map(len, re.sub(rb"\x1b\[[0-9;]*m", b"", out).decode().splitlines()))

    def test_a_report_fits_a_narrow_terminal_and_80_columns_at_most(self):
        plain = self.widest(self.expected)
        self.assertTrue(60 < plain <= 80, plain)
        for narrow in ({"columns": 50}, {"COLUMNS": "50"}, {"columns": 200, "COLUMNS": "50"}):
            with self.subTest(narrow):
                self.assertTrue(40 < self.widest(self.shown(**narrow)) <= 50)
        for wide in ({}, {"columns": 200}, {"COLUMNS": "200"}, {"COLUMNS": "junk", "columns": 80}):
            with self.subTest(wide):
                self.assertEqual(self.widest(self.shown(**wide)), plain)
        self.assertLessEqual(self.widest(self.shown(columns=1)), 40)
        # A file's reader is not known.
        self.assertEqual(doctor("--from", self.snapshot,
                                env=clean_environment(COLUMNS="50")).out, self.expected)

    def test_the_list_of_rules_fits_the_terminal_too(self):
        self.assertTrue(40 < self.widest(self.told(["policies"], 0, 50)) <= 50)
        self.assertTrue(60 < self.widest(self.told(["policies"], 0, 200)) <= 80)

    def test_without_its_colours_it_is_the_plain_report(self):
        coloured = doctor("--from", self.snapshot, "--color", "always").out
        self.assertIn(b"\x1b[", coloured)
        self.assertEqual(re.sub(rb"\x1b\[[0-9;]*m", b"", coloured), self.expected)

    def test_only_a_terminal_is_coloured_by_itself(self):
        self.assertNotIn(b"\x1b", self.expected)
        self.assertTrue(self.on_terminal())
        self.assertFalse(self.on_terminal("--color", "never"))
        self.assertFalse(self.on_terminal("--json"))
        self.assertFalse(self.on_terminal("--json", "--color", "always"))

    def test_the_environment_is_heard(self):
        self.assertFalse(self.on_terminal(TERM="dumb"))
        self.assertFalse(self.on_terminal(NO_COLOR="1"))
        self.assertFalse(self.on_terminal(NO_COLOR="0"))
        self.assertTrue(self.on_terminal(NO_COLOR=""))

    def test_always_means_always(self):
        for changes in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
            ended = doctor("--from", self.snapshot, "--color", "always",
                           env=clean_environment(**changes))
            self.assertIn(b"\x1b[", ended.out)

    def test_colour_is_all_that_colour_changes(self):
        coloured = doctor("--from", self.snapshot, "--color", "always").out
        self.assertEqual(re.sub(rb"\x1b\[[0-9;]*m", b"", coloured), self.expected)


support.main()
