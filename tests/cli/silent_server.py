"""silent_server.py PLACE FILE...: a FUSE file system at PLACE that holds copies of the files, until it is told otherwise.

A line on stdin says how it goes on:
  deaf    reads no request any more: whoever asks waits, and can be killed
  mute    reads each request and answers none: whoever asked cannot even be killed
Its end is the end of the file system: what waited for it gets an error. The kernel's interface and nothing else,
so that no package is needed. Run in a mount namespace of its own.
"""
import ctypes
import errno
import os
import pathlib
import select
import signal
import stat
import struct
import sys
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR = 1, 2, 3, 14, 15, 18, 25, 26, 27, 29
INTERRUPT, BATCH_FORGET = 36, 42
ROOT = 1
REQUEST = struct.Struct("=IIQQIIIHH")
ANSWER = struct.Struct("=IiQ")
LARGEST = 1 << 20


class Files:
    def __init__(self, paths):
        self.names = {path.name.encode(): node for node, path in enumerate(paths, ROOT + 1)}
        self.bytes = {node: path.read_bytes() for node, path in enumerate(paths, ROOT + 1)}

    def attributes(self, node):
        size = len(self.bytes.get(node, b""))
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
        return struct.pack("=6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, code, node, body):
        """The body of the answer, or an error number."""
        if code == INIT:
            return struct.pack("=4I2H2I2H8I", 7, 31, 0, 0, 16, 12, 4096, 1, 0, 0, *[0] * 8)
        if code == LOOKUP:
            found = self.names.get(body.rstrip(b"\0")) if node == ROOT else None
            # Asked for anew each time: nothing is known without the server.
            return errno.ENOENT if found is None else struct.pack("=4Q2I", found, 0, 0, 0, 0, 0) + self.attributes(found)
        if code == GETATTR:
            return struct.pack("=Q2I", 0, 0, 0) + self.attributes(node)
        if code in (OPEN, OPENDIR):
            return struct.pack("=Q2I", 0, 0, 0)
        if code == READ:
            _, offset, size = struct.unpack_from("=QQI", body)
            return self.bytes[node][offset:offset + size]
        return b"" if code in (RELEASE, RELEASEDIR, FLUSH) else errno.ENOSYS


class Server:
    def __init__(self, place, files):
        self.files, self.state = files, ""
        libc = ctypes.CDLL(None, use_errno=True)
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK)
        options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.device
        if libc.mount(b"silent", os.fsencode(place), b"fuse", 0, options) != 0:
            sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")

    def serve(self):
        while self.state != "deaf":
            if not select.select([self.device], [], [], 0.02)[0]:
                continue
            try:
                request = os.read(self.device, LARGEST)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return
            _, code, unique, node, *_ = REQUEST.unpack_from(request)
            if code in (FORGET, BATCH_FORGET, INTERRUPT) or self.state:
                continue
            answer = self.files.answer(code, node, request[REQUEST.size:])
            failed, body = (answer, b"") if isinstance(answer, int) else (0, answer)
            os.write(self.device, ANSWER.pack(ANSWER.size + len(body), -failed, unique) + body)


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: with whoever started it
    server = Server(sys.argv[1], Files([pathlib.Path(each) for each in sys.argv[2:]]))
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    print("ready", flush=True)
    for line in sys.stdin:
        server.state = line.strip()
        if server.state == "deaf":
            thread.join()
        print("ok", flush=True)


main()
