"""The two children of a probe, started by hand: each under a command of its own (`unshare ...`), in
an environment of its own, and where wanted with somebody between them who changes what they say.

What a child is told and tells: include/cudart_doctor/probe/protocol.hpp; what the two say to each
other: src/probe/peer.hpp. Python's standard library only.
"""
import contextlib
import dataclasses
import fcntl
import json
import os
import select
import selectors
import signal
import socket
import time

RESULTS, PEER, ORDER, FIRST_FILE = 3, 4, 5, 10
ABOVE_ALL = 200  # No descriptor that a child is given has such a number.

MESSAGE_BYTES = 704
HANDLE_AT, HANDLE_BYTES = 64, 64
MEMORY = 1  # PeerKind::memory: the exporter hands its memory handle over.

BOUND_NAMES = ["cudaSetDevice", "cudaDeviceSynchronize", "cudaDeviceReset", "cudaGetErrorString",
               "cudaMalloc", "cudaFree", "cudaMemset", "cudaMemcpy", "cudaIpcGetMemHandle",
               "cudaIpcOpenMemHandle", "cudaIpcCloseMemHandle"]
OWN_STAGES = ["load", "symbols", "versions", "devices", "context"]
STAGES = {
    "exporter": [*OWN_STAGES, "memory", "kernels", "ipc_export", "ipc_verify", "ipc_event",
                 "ipc_close", "ipc_again"],
    "importer": [*OWN_STAGES, "ipc_import", "ipc_compute", "ipc_event", "ipc_close", "ipc_again"]}


class Skip(Exception):
    """A scenario that cannot be had here, and why."""


@dataclasses.dataclass
class Setting:
    """How one child is started."""
    before: tuple = ()  # A command that ends by running what follows it.
    environment: dict = dataclasses.field(default_factory=dict)  # Changes to our own.


class Child:
    """One of the two: its frames in the order in which they came, what it printed, how it ended."""

    def __init__(self, side):
        self.side = side
        self.frames = []
        self.output = b""
        self.exit = None  # Exit code; negative: the signal.
        self.late = False  # It had to be killed at the deadline.
        self.pid = None
        self._bytes = b""

    @property
    def done(self):
        return any(frame["kind"] == "done" for frame in self.frames)

    def stage(self, name):
        """The stage's record, the one after it if it came; None where there is neither."""
        found = [frame["stage"] for frame in self.frames
                 if frame["kind"] in ("begin", "end") and frame["stage"]["stage"] == name]
        return found[-1] if found else None

    def outcome(self, name):
        stage = self.stage(name)
        return stage and stage["outcome"]

    def code(self, name):
        stage = self.stage(name)
        return stage and stage["code"]

    def failed(self):
        """Names of the stages that failed or never ended, in the order in which they ran."""
        names = [frame["stage"]["stage"] for frame in self.frames if frame["kind"] == "begin"]
        return [name for name in dict.fromkeys(names)
                if self.outcome(name) in ("fail", "begun")]

    def describe(self, name):
        stage = self.stage(name)
        if stage is None:
            return f"{self.side} {name}: not reached"
        words = [self.side, name, stage["outcome"], stage["code"], stage["call"], stage["detail"]]
        return " ".join(str(word) for word in words if word not in (None, "", 0))

    def summary(self):
        failed = [self.describe(name) for name in self.failed()]
        end = "late" if self.late else f"exit {self.exit}"
        return "; ".join(failed or [f"{self.side} without a failure"]) + f" ({end})"

    def take(self, data):
        """Bytes of the result descriptor: frames of a length and that many bytes of JSON."""
        self._bytes += data
        while len(self._bytes) >= 4:
            size = int.from_bytes(self._bytes[:4], "little")
            if len(self._bytes) < 4 + size:
                return
            frame = json.loads(self._bytes[4:4 + size])
            self._bytes = self._bytes[4 + size:]
            self.frames.append(frame)
            yield frame


class Pair:
    """Exporter and importer for one runtime on the first visible device.

    relay(side, message): what `side` says to the other one comes out as what this returns; None:
    the message is lost. on_frame(pair, child, frame): called as each frame comes. After run()
    nothing of the two is left.
    """

    def __init__(self, binary, runtime, *, exporter=None, importer=None, relay=None, on_frame=None,
                 deadline=30.0):
        self.binary, self.runtime = str(binary), str(runtime)
        self.settings = {"exporter": exporter or Setting(), "importer": importer or Setting()}
        self.relay, self.on_frame, self.deadline = relay, on_frame, deadline
        self.exporter, self.importer = Child("exporter"), Child("importer")
        self.seconds = 0.0
        self._news = selectors.DefaultSelector()

    def run(self):
        began = time.monotonic()
        end = began + self.deadline
        try:
            self._start_both()
            self._listen(end)
            for child in (self.exporter, self.importer):
                self._wait(child, end)
        finally:
            for child in (self.exporter, self.importer):
                self.kill(child)
                self._reap(child, 5)
            for key in list(self._news.get_map().values()):
                self._close(key.fileobj)
            self._news.close()
        self.seconds = time.monotonic() - began
        return self

    def kill(self, child):
        """The whole group: the command before it, too, and what is in another PID namespace."""
        if child.pid is not None and child.exit is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

    def _start_both(self):
        with contextlib.ExitStack() as given:
            if self.relay is None:
                ends = [given.enter_context(one) for one in
                        socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
            else:
                ends = [given.enter_context(one) for one in self._stand_between()]
            for child, end in zip((self.exporter, self.importer), ends):
                self._start(child, end.fileno())

    def _stand_between(self):
        """Two connections of which we hold the inner ends; the outer ones."""
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        inner = [pair[0] for pair in pairs]
        for side, source, sink in (("exporter", *inner), ("importer", *reversed(inner))):
            self._news.register(source, selectors.EVENT_READ,
                                lambda s=side, a=source, b=sink: self._pass_on(s, a, b))
        return [pair[1] for pair in pairs]

    def _start(self, child, peer):
        order = os.memfd_create("order")
        os.write(order, json.dumps({
            "side": child.side, "bound_names": BOUND_NAMES, "devices": [0], "all_pairs": False,
            "runtimes": [{"index": 0, "fd": FIRST_FILE, "symbols_only": False}],
            "no_ipc": "", "driver_checks": False}).encode())
        os.lseek(order, 0, os.SEEK_SET)
        file = os.open(self.runtime, os.O_RDONLY)
        nothing = os.open("/dev/null", os.O_RDONLY)
        results, results_in = os.pipe()
        output, output_in = os.pipe()
        wanted = {0: nothing, 1: output_in, 2: output_in, RESULTS: results_in, PEER: peer,
                  ORDER: order, FIRST_FILE: file}
        # Out of the way first: a descriptor of ours may have the number of another one's place.
        moved = {to: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, ABOVE_ALL)
                 for to, fd in wanted.items()}
        setting = self.settings[child.side]
        command = [*setting.before, self.binary, "__probe-child"]
        try:
            child.pid = os.posix_spawnp(
                command[0], command,
                {**os.environ, "CUDA_CACHE_DISABLE": "1", **setting.environment}, setsid=True,
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in moved.items()])
        finally:
            for fd in (*moved.values(), order, file, nothing, results_in, output_in):
                os.close(fd)
        self._news.register(results, selectors.EVENT_READ,
                            lambda: self._read_results(child, results))
        self._news.register(output, selectors.EVENT_READ, lambda: self._read_output(child, output))

    def _listen(self, end):
        while self._news.get_map() and time.monotonic() < end:
            for key, _ in self._news.select(max(0.0, end - time.monotonic())):
                # An earlier one of this round may have closed it.
                if key.fd in self._news.get_map():
                    key.data()

    def _read_results(self, child, fd):
        data = os.read(fd, 65536)
        if not data:
            self._close(fd)
        for frame in child.take(data):
            if self.on_frame:
                self.on_frame(self, child, frame)

    def _read_output(self, child, fd):
        data = os.read(fd, 65536)
        if not data:
            self._close(fd)
        child.output = (child.output + data)[-65536:]

    def _pass_on(self, side, source, sink):
        data, fds = b"", []
        with contextlib.suppress(ConnectionError):
            data, fds, _, _ = socket.recv_fds(source, 2 * MESSAGE_BYTES, 1)
        try:
            if data:
                data = self.relay(side, data)
                if data is not None:
                    socket.send_fds(sink, [data], fds)
                return
        except (ConnectionError, BrokenPipeError):
            pass
        finally:
            for fd in fds:
                os.close(fd)
        # One of them is gone: so is the connection of the other.
        self._close(source)
        self._close(sink)

    def _close(self, what):
        with contextlib.suppress(KeyError, ValueError):
            self._news.unregister(what)
            what.close() if isinstance(what, socket.socket) else os.close(what)

    def _wait(self, child, end):
        """It ends by itself, or is killed at the deadline."""
        if not self._reap(child, max(0.0, end - time.monotonic())):
            child.late = True

    @staticmethod
    def _reap(child, seconds):
        if child.pid is None or child.exit is not None:
            return True
        handle = os.pidfd_open(child.pid)
        try:
            ended = bool(select.select([handle], [], [], seconds)[0])
        finally:
            os.close(handle)
        if ended:
            child.exit = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
        return ended


def is_memory_handle(side, message):
    """Whether this is the message that carries the handle of the shared memory."""
    if len(message) != MESSAGE_BYTES:
        raise ValueError(f"a message of {len(message)} bytes: not src/probe/peer.hpp's layout")
    return side == "exporter" and int.from_bytes(message[:4], "little") == MEMORY


def flip_handle_byte(position):
    """A relay that damages one byte of every memory handle."""
    def relay(side, message):
        if not is_memory_handle(side, message):
            return message
        at = HANDLE_AT + position
        return message[:at] + bytes([message[at] ^ 0xFF]) + message[at + 1:]
    return relay


def lose_answers_to_handle():
    """A relay by which the exporter never hears what became of its handle."""
    handed_over = []

    def relay(side, message):
        if is_memory_handle(side, message):
            handed_over.append(True)
        return None if side == "importer" and handed_over else message
    return relay


def kill_importer_at(stage):
    """An on_frame that kills the importer as soon as it says that `stage` begins."""
    def on_frame(pair, child, frame):
        if (child.side == "importer" and frame["kind"] == "begin"
                and frame["stage"]["stage"] == stage):
            pair.kill(child)
    return on_frame
