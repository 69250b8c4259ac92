"""Processes that do not want to be understood: each look ends in time, with a valid document, within its
memory, prints no escape sequence, and never calls them healthy."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import threading
import time

import support
from support import VALIDATOR, Case, clean_environment, need_program

LOOKS = 40
TIMEOUT_S = 5
MOST_MEMORY = 256 << 20
SOURCE = pathlib.Path(__file__).with_name("hostile.c")


class Hostile(Case):
    def look(self, pid, *arguments):
        """One look with its checks; (exit code, document)."""
        begin = time.monotonic()
        out = self.folder / "out"
        with open(out, "wb") as stdout:
            child = subprocess.Popen([support.DOCTOR, "--pid", str(pid), "--json", "--probe", "off", "--timeout", str(TIMEOUT_S),
                                      *arguments], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                                     env=clean_environment())
            message = child.stderr.read()
            child.stderr.close()
            # The peak of the largest: the program, or a child that it waited for.
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = code = os.waitstatus_to_exitcode(status)
        self.assertLess(time.monotonic() - begin, TIMEOUT_S + 3)
        self.assertIn(code, (1, 3), message)
        self.assertLess(usage.ru_maxrss << 10, MOST_MEMORY)
        document = json.loads(out.read_bytes())
        VALIDATOR.validate(document)
        self.assertNotIn(b"\x1b", message)
        return code, document

    def start(self, *command):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, env=clean_environment(), cwd="/")
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_memory_that_changes_while_it_is_read(self):
        need_program(self, "gcc")
        program = self.folder / "hostile"
        subprocess.run(["gcc", "-O1", "-pthread", "-o", program, SOURCE, "-ldl"], check=True)
        libraries = [self.runtime("12.8", folder=name) for name in ("a", "b", "c")]
        process = self.start(program, *libraries)
        found = 0
        for number in range(LOOKS):
            code, document = self.look(process.pid)
            found += any(each["id"] == "RT05" for each in document.get("findings", ()))
            if number % 10 == 0:
                text = support.doctor("--pid", process.pid, "--probe", "off", "-v")
                self.assertNotIn(b"\x1b", text.out + text.err)
        self.assertIsNone(process.poll(), "the process was ended")
        self.assertGreater(found, 0, "two copies were never seen")

    def test_files_that_change_while_they_are_read(self):
        """A mapped file's path is another file, a link in a circle, a FIFO, a device, a folder, or nothing, from moment to moment."""
        first, second = (self.runtime("12.8", folder=name) for name in ("a", "b"))
        kept = self.runtime("13.0", folder="kept")
        server = self.victim(f"load({str(first)!r})", f"load({str(second)!r})")
        stop = threading.Event()
        forms = (lambda path: shutil.copyfile(kept, path), lambda path: os.symlink(path.name, path), os.mkfifo,
                 lambda path: os.symlink("/dev/zero", path), lambda path: path.write_bytes(b"\x7fELF"), os.mkdir, lambda path: None)

        def change():
            turn = 0
            while not stop.is_set():
                path = (first, second)[turn % 2]
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()
                else:
                    path.unlink(missing_ok=True)
                forms[turn // 2 % len(forms)](path)
                turn += 1

        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(LOOKS):
                self.look(server.pid)
        finally:
            stop.set()
            thread.join()

    def test_as_many_threads_as_there_may_be(self):
        server = self.victim(*(f"load({str(self.runtime('12.8', folder=name))!r})" for name in ("a", "b")),
                             "import threading", "threading.stack_size(32768)",
                             "exec('for _ in range(3000): threading.Thread(target=threading.Event().wait, daemon=True).start()')")
        code, document = self.look(server.pid)
        self.assertEqual(code, 1)
        self.assertIn("RT05", {each["id"] for each in document["findings"]})


if __name__ == "__main__":
    support.main()
