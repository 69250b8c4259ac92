"""The recorder in an emulated process of another architecture, with that architecture's loader.

emulated_test.py LIBRARY VICTIM TOY EMULATOR...: this program is the launcher's end of the socket, because the
launcher cannot run under emulation. Where dlopen was called is not looked for: the emulator has no process_vm_readv.
"""
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

MARK = b"recorder socket path goes here: "
LIBRARY, VICTIM, TOY, *EMULATOR = sys.argv[1:]


def fields(packet):
    """A record: name=value, each with a NUL behind it."""
    return dict(part.decode().split("=", 1) for part in packet.split(b"\0") if part)


class Emulated(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(self.listener.close)
        path = str(self.folder / "s")
        self.listener.bind(path)
        self.listener.listen(16)
        self.listener.settimeout(30)
        image = pathlib.Path(LIBRARY).read_bytes()
        self.assertEqual(image.count(MARK), 1)
        at = image.index(MARK)
        patched = image[:at] + path.encode() + b"\0" + image[at + len(path) + 1:]
        self.library = self.folder / "recorder.so"
        self.library.write_bytes(patched)

    def record(self, *arguments, until):
        """The records up to one of the kind `until`, and how the program ended."""
        command = [*EMULATOR, "-E", f"LD_AUDIT={self.library}", VICTIM, *arguments]
        records = []
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while not records or records[-1]["kind"] != until:
                connection, _ = self.listener.accept()
                with connection:
                    connection.settimeout(30)
                    while packet := connection.recv(32768):
                        records.append(fields(packet))
                        if records[-1]["kind"] == "sync":
                            connection.send(b"p")
            return records, process.wait(30)

    def test_a_load_is_told_with_who_asked_and_its_end_with_the_unloading(self):
        records, status = self.record("open", TOY, "close", until="unload")
        self.assertEqual([each["kind"] for each in records], ["start", "load", "sync", "unload"])
        load = records[1]
        self.assertEqual((load["path"], load["cause"], load["name"], load["by"], load["ns"]),
                         (TOY, "opened", TOY, VICTIM, "0"))
        self.assertEqual(load["ino"], str(pathlib.Path(TOY).stat().st_ino))
        self.assertEqual((records[3]["path"], records[3]["base"]), (TOY, load["base"]))
        self.assertEqual(status, 0)

    def test_another_namespace_is_told_by_its_number(self):
        # The recorder itself is in the first behind the program's.
        records, status = self.record("space", TOY, until="sync")
        loads = [each for each in records if each["kind"] == "load"]
        self.assertEqual([(each["path"], each["ns"]) for each in loads], [(TOY, "2")])
        self.assertEqual(status, 0)

    def test_a_child_tells_its_own_loads(self):
        records, status = self.record("fork", "open", TOY, until="sync")
        load = next(each for each in records if each["kind"] == "load")
        self.assertNotEqual(load["pid"], records[0]["pid"])
        self.assertEqual(status, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
