"""Helpers of the recorder's tests. Each is called as: PROGRAM.py RECEIVER VICTIM [unittest arguments]."""
import json
import os
import pathlib
import subprocess
import sys

import support
from support import Case

RECEIVER = support.DOCTOR
VICTIM = os.path.abspath(sys.argv.pop(1))
FRAME = ("pyfile", "pyline", "pyfunc", "pymod")


class Record(dict):
    """The fields of a record, as bytes decoded by the file system's rules; `frames` as tuples."""

    def __init__(self, line):
        super().__init__()
        packet = bytes.fromhex(line["bytes"])
        assert packet.endswith(b"\0"), packet
        self.parsed, self.sender, self.connection = line["parsed"], line["pid"], line["connection"]
        self.frames = []
        for field in packet[:-1].split(b"\0"):
            key, value = map(os.fsdecode, field.split(b"=", 1))
            if key == "pyfile":
                self.frames.append({})
            (self.frames[-1] if key in FRAME else self)[key] = value

    @property
    def stack(self):
        return [(os.path.basename(frame["pyfile"]), int(frame["pyline"]), frame["pyfunc"])
                for frame in self.frames]


class Recording:
    """How a command ended, and what the recorder said of it."""

    def __init__(self, done, file):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        self.library = lines[0]["library"]
        self.records = [Record(line) for line in lines[1:]]

    def of(self, kind):
        return [record for record in self.records if record["kind"] == kind]

    @property
    def loads(self):
        return self.of("load")

    def load(self, path):
        """The one load of `path`."""
        found = [record for record in self.loads if record["path"] == str(path)]
        assert len(found) == 1, f"{len(found)} loads of {path}: {self.loads}"
        return found[0]


class RecorderCase(Case):
    def start(self, *command, answer="proceed", env=None, **options):
        file = self.folder / "records"
        process = subprocess.Popen(
            [RECEIVER, file, answer, "--", *map(str, command)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(env or {})}, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process, file

    def record(self, *command, code=0, timeout=60, **options):
        """Runs a command that must end with `code` and leave nothing on stderr."""
        process, file = self.start(*command, **options)
        out, err = process.communicate(timeout=timeout)
        recording = Recording(subprocess.CompletedProcess(command, process.returncode, out, err),
                              file)
        self.assertEqual((recording.code, recording.err), (code, b""), out)
        for record in recording.records:
            self.assertTrue(record.parsed, record)
        return recording

    def do(self, *verbs, **options):
        return self.record(VICTIM, *verbs, **options)

    def toy(self, name="libcudart.so.12", code="int cudaMalloc(void) { return 0; }", *flags):
        return self.compile(name, code, f"-Wl,-soname,{name}", *flags)


def functions_of(path):
    """Name by range of the functions in a program, by nm."""
    listing = subprocess.run(["nm", "-S", "--defined-only", path], check=True, capture_output=True,
                             text=True).stdout
    out = []
    for fields in map(str.split, listing.splitlines()):
        if len(fields) == 4 and fields[2] in "tT":
            out.append((int(fields[0], 16), int(fields[1], 16), fields[3]))
    return out


def function_at(path, offset):
    return [name for begin, size, name in functions_of(path) if begin <= offset < begin + size]


def main():
    support.main()


__all__ = ["RECEIVER", "VICTIM", "Record", "RecorderCase", "Recording", "function_at", "main",
           "pathlib"]
