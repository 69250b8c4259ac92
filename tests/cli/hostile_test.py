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
MOST_OF_A_WORKER = 512 << 20
MAPPINGS = 1 << 20
NODE = support.jsonschema.Draft202012Validator(json.loads((support.SOURCE / "docs/tree.schema.json").read_text()))
SOURCE = pathlib.Path(__file__).with_name("hostile.c")


class Hostile(Case):
    def look(self, pid):
        return self.look_by("--pid", pid, "--probe", "off")

    def look_by(self, *command, memory=MOST_MEMORY, schema=VALIDATOR):
        """One look with its checks; (exit code, document)."""
        begin = time.monotonic()
        out = self.folder / "out"
        with open(out, "wb") as stdout:
            child = subprocess.Popen([support.DOCTOR, *map(str, command), "--json", "--timeout", str(TIMEOUT_S)],
                                     stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, env=clean_environment())
            message = child.stderr.read()
            child.stderr.close()
            # The peak of the largest: the program, or a child that it waited for.
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = code = os.waitstatus_to_exitcode(status)
        self.assertLess(time.monotonic() - begin, TIMEOUT_S + 3)
        self.assertIn(code, (1, 3), message)
        self.assertLess(usage.ru_maxrss << 10, memory)
        document = json.loads(out.read_bytes())
        schema.validate(document)
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

    def two_copies(self, *more):
        return self.victim(*(f"load({str(self.runtime('12.8', folder=name))!r})" for name in ("a", "b")), *more)

    def assert_found(self, server):
        for command in (["--pid", server.pid, "--probe", "off"], ["tree", "--pid", server.pid]):
            with self.subTest(command):
                code, document = self.look_by(*command, schema=NODE if command[0] == "tree" else VALIDATOR)
                self.assertEqual(code, 1)
                self.assertIn("RT05", json.dumps(document))

    def test_as_many_threads_as_there_may_be(self):
        most = min(int(pathlib.Path("/proc/sys/kernel", name).read_text()) for name in ("threads-max", "pid_max"))
        count = min(20_000, most - 5000)
        self.assert_found(self.two_copies(
            "import threading", "threading.stack_size(32768)",
            f"exec('for _ in range({count}): threading.Thread(target=threading.Event().wait, daemon=True).start()')"))

    def test_a_command_line_of_megabytes(self):
        """Of bytes that take six to ten times as much where they are escaped."""
        support.need_no_sanitizer(self)
        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_STACK, (soft, hard))
        resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))  # A quarter of it may be arguments, 6 MB at most.
        count = 45 if hard == resource.RLIM_INFINITY else 12
        libraries = [self.runtime("12.8", folder=name) for name in ("a", "b")]
        code = f"import ctypes, time; [ctypes.CDLL(each) for each in {list(map(str, libraries))}]; print('ready', flush=True); time.sleep(600)"
        process = self.start(support.PYTHON, "-c", code, *["\x1b" * 120_000] * count)
        for command in (["--pid", process.pid, "--probe", "off"], ["tree", "--pid", process.pid]):
            with self.subTest(command):
                is_tree = command[0] == "tree"
                _, document = self.look_by(*command, schema=NODE if is_tree else VALIDATOR, memory=64 << 20)
                (target,) = document["processes"] if is_tree else (document["target"],)
                self.assertIsNone(target["command_line"])
                self.assertIn("larger than the limit", target["command_line_reason"])

    def test_as_many_mappings_as_distributions_let_there_be(self):
        """vm.max_map_count is 65,530 in the kernel, 1,048,576 where it was raised for games and databases."""
        support.need_no_sanitizer(self)
        support.raise_mappings(self, MAPPINGS + 1000)
        self.assert_found(self.two_copies(f"crowd({MAPPINGS})"))

    def test_more_mappings_than_memory_holds(self):
        """Whoever is root may raise the limit to any number: the look ends in time, and says that it could not see."""
        support.need_no_sanitizer(self)
        support.raise_mappings(self, 5 * MAPPINGS)
        server = self.two_copies(f"crowd({4 * MAPPINGS})")
        code, document = self.look_by("--pid", server.pid, "--probe", "off", memory=MOST_OF_A_WORKER)
        self.assertEqual(code, 3)
        self.assertIn("more memory than it may take", document["error"]["message"])
        code, document = self.look_by("tree", "--pid", server.pid, memory=MOST_OF_A_WORKER, schema=NODE)
        self.assertEqual(code, 3)


if __name__ == "__main__":
    support.main()
