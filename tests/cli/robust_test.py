"""Processes that do not hold still, are huge, or map files that lie: never a crash or a hang."""
import os
import shutil
import subprocess
import time

import support
from support import Case, by_path, doctor

class Moving(Case):
    def test_short_lived_processes(self):
        """Whatever the moment at which the process ends: a report, or that it is gone."""
        gone = 0
        until = time.monotonic() + 6
        while time.monotonic() < until and gone < 40:
            child = subprocess.Popen(["sleep", "0.00%d" % (gone % 9)])
            try:
                ended = doctor("--pid", child.pid, timeout=15)
            finally:
                child.wait()
            self.assertIn(ended.code, (0, 1, 3), ended.message)
            self.assertNotRegex(ended.message, "SIG|itself failed")
            if ended.out:
                # A report, if need be one that says what it could not see.
                self.assertEqual(ended.text.startswith("UNDECIDED"), ended.code == 3, ended.text)
            else:
                self.assertEqual(ended.code, 3)
                self.assertRegex(ended.message,
                                 "ended while|is a zombie|no process with|another process|"
                                 "maps nothing|No such process")
                gone += 1
        self.assertGreater(gone, 0)

    def test_a_process_that_maps_and_unmaps(self):
        path = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        other = self.compile("libcudart.so.13", "int cudaMalloc(void) { return 1; }")
        victim = self.victim(f"load({str(path)!r})")
        # No answer is awaited: it goes on until it is killed.
        victim.process.stdin.write(
            f"libc.dlclose.argtypes = [ctypes.c_void_p]\n"
            f"exec('while True: libc.dlclose(ctypes.CDLL({str(other)!r})._handle); "
            f"m = mmap.mmap(-1, 1 << 16); m.close()')\n".encode())
        victim.process.stdin.flush()
        for _ in range(25):
            report = self.report("--pid", victim.pid)
            self.assertTrue(by_path(report, path)["loaded"])
        self.assertIsNone(victim.process.poll())

    def test_a_process_that_starts_another_program(self):
        """exec replaces everything under one PID."""
        script = "import os, sys\nos.execv(sys.executable, [sys.executable, '-I', '-c', " \
                 "open(sys.argv[1]).read(), sys.argv[1]])\n"
        file = self.folder / "again.py"
        file.write_text(script)
        child = subprocess.Popen([support.PYTHON, "-I", "-c", script, file])
        try:
            for _ in range(25):
                ended = doctor("--pid", child.pid, "--json", timeout=15)
                self.assertIn(ended.code, (0, 1, 3), ended.message)
                ended.document
            self.assertIsNone(child.poll())
        finally:
            child.kill()
            child.wait()


class Large(Case):
    COUNT = 100_000

    def test_a_hundred_thousand_mappings(self):
        support.raise_mappings(self, self.COUNT + 1000)
        path = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        victim = self.victim(f"load({str(path)!r})", f"crowd({self.COUNT})")
        self.assertGreater(victim.maps().count("\n"), self.COUNT)
        started = time.monotonic()
        report = self.report("--pid", victim.pid)
        self.assertLess(time.monotonic() - started, 15)
        self.assertTrue(report["capture"]["maps_consistent"])
        self.assertEqual(report["capture"]["odd_lines"], 0)
        by_path(report, path)

    def test_the_longest_path(self):
        """Longer than PATH_MAX: reached step by step, and shown by the kernel as it can."""
        built = self.compile("built.so", "int cudaFree(void *p) { return p != 0; }")
        here = os.open(self.folder, os.O_RDONLY)
        depth = 0
        try:
            length = len(str(self.folder))
            # 4,095 bytes with the file's name: the most that an absolute path can have.
            while 4095 - len("/libcudart.so.12") - length > 1:
                size = min(200, 4095 - len("/libcudart.so.12") - length - 1)
                name = "d" * size
                os.mkdir(name, dir_fd=here)
                inner = os.open(name, os.O_RDONLY, dir_fd=here)
                os.close(here)
                here, length, depth = inner, length + size + 1, depth + 1
            shutil.copyfile(built, f"/proc/self/fd/{here}/libcudart.so.12")
            path = os.readlink(f"/proc/self/fd/{here}") + "/libcudart.so.12"
            self.assertEqual(len(path), 4095)
            victim = self.victim(f"load({path!r})")
            runtime = by_path(self.report("--pid", victim.pid), path)
            self.assertEqual((runtime["state"], runtime["loaded"]), ("same", True))
            for line in doctor("--pid", victim.pid).text.splitlines():
                self.assertLessEqual(len(line), 80)
            # Deleted, its mark would make the line longer than a page's worth of path.
            os.unlink("libcudart.so.12", dir_fd=here)
            report = self.report("--pid", victim.pid)
            self.assertEqual(by_path(report, path)["state"], "deleted")
            victim.end()
        finally:
            os.close(here)


class Lying(Case):
    """Files that were mapped executable and are not what their first bytes say."""

    def variants(self):
        good = bytearray(self.compile("good.so", "int cudaFree(void *p) { return p != 0; }")
                         .read_bytes())
        # Fields of the ELF header: e_phoff at 32, e_shoff at 40, e_phnum at 56, e_shnum at 60.
        def changed(at, value):
            out = bytearray(good)
            out[at:at + len(value)] = value
            return bytes(out)
        yield "one byte", b"\x7f"
        yield "magic only", b"\x7fELF"
        yield "half a header", bytes(good[:40])
        yield "header only", bytes(good[:64])
        yield "cut in the middle", bytes(good[:len(good) // 2])
        yield "zeros", bytes(8192)
        yield "text", b"#!/bin/sh\n" * 1000
        yield "32-bit", changed(4, b"\x01")
        yield "big-endian", changed(5, b"\x02")
        yield "program headers far away", changed(32, b"\xff" * 8)
        yield "program headers at the very end", changed(32, len(good).to_bytes(8, "little"))
        yield "too many program headers", changed(56, b"\xff\xff")
        yield "no program headers", changed(56, b"\0\0")
        yield "sections far away", changed(40, b"\xf0" + b"\xff" * 7)
        yield "too many sections", changed(60, b"\xff\xff")
        for offset in range(64, 64 + 56 * 4, 8):
            yield f"8 bytes at {offset}", changed(offset, b"\xff" * 8)
        # Noise over everything behind the headers.
        yield "noise", bytes(good[:512]) + bytes((i * 167 + 13) % 256 for i in range(16384))

    def test_none_of_them_harms(self):
        paths = []
        for number, (name, data) in enumerate(self.variants()):
            path = self.folder / f"libcudart.so.{number}"
            path.write_bytes(data)
            paths.append((name, path))
        victim = self.victim(*(f"map_file({str(path)!r}, mmap.PROT_READ | mmap.PROT_EXEC)"
                               for _, path in paths))
        for form in ([], ["--deep"]):
            report = self.report("--pid", victim.pid, *form)
            for name, path in paths:
                with self.subTest(name):
                    self.assertNotEqual(by_path(report, path)["kind"], "genuine")
        self.assertNotIn("itself failed", doctor("--pid", victim.pid, "-v").message)

    def test_a_file_that_shrinks_after_it_was_mapped(self):
        path = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        victim = self.victim(f"map_file({str(path)!r}, mmap.PROT_READ | mmap.PROT_EXEC)")
        for size in (4096, 100, 0):
            os.truncate(path, size)
            by_path(self.report("--pid", victim.pid), path)


support.main()
