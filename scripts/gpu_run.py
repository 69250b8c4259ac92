"""Scenarios of scripts/gpu-check for `cudart-doctor run`: PyTorch programs that load a stub and then
share CUDA memory, watched and gated, several ranks on one card, and what the recorder costs."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import textwrap
import time

from gpu_pair import Skip

IMPORT_ROUNDS = 7
IMPORT_LIMIT = 1.05  # times the bare import, until its last line
SCENARIOS = []

# Loads the runtime, then the stub below it, where a scan of the addresses meets it first, then makes
# a handle for another process (CUDA IPC).
SHARING = """
    import ctypes, mmap, sys, time
    import torch

    def load_below(path):
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        with open("/proc/self/maps") as maps:
            floor = min(int(line.split("-")[0], 16) for line in maps if "libcudart" in line)
        for size in (1 << 24, 1 << 20, 1 << 16, mmap.PAGESIZE):
            while True:  # Takes the holes above: not reserved, not accessible.
                at = libc.mmap(None, size, 0, 0x4022, -1, 0)
                if at < floor:
                    libc.munmap(at, size)
                    break
        ctypes.CDLL(path)

    first = torch.ones(1000, device="cuda")
    torch.cuda.synchronize()
    print("started", flush=True)
    {load}
    print("loaded", flush=True)
    memory = torch.ones(1 << 20, device="cuda")
    handle = memory.untyped_storage()._share_cuda_()
    assert len(handle[1]) in (64, 66), len(handle[1])
    print("shared", flush=True)
    sys.exit(7)
"""
# Ranks that give each other a tensor through CUDA IPC, as torch.multiprocessing does.
RANKS = """
    import ctypes, os, sys
    import torch
    import torch.multiprocessing as multiprocessing

    def rank(number, stub, inbox, outbox):
        if number == 1 and stub:
            ctypes.CDLL(stub)
        mine = torch.full((1 << 16,), float(number + 1), device="cuda")
        outbox.put(mine)
        other = inbox.get()
        total = float(other.sum())
        expected = float((2 - number) * (1 << 16))
        outbox.put(None)
        inbox.get()
        del other
        sys.exit(0 if total == expected else 9)

    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        boxes = [context.Queue(), context.Queue()]
        ranks = [context.Process(target=rank,
                                 args=(number, sys.argv[1], boxes[number], boxes[1 - number]))
                 for number in range(2)]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()
        print(sorted(each.exitcode for each in ranks), flush=True)
        sys.exit(max(each.exitcode for each in ranks))
"""


def scenario(function):
    SCENARIOS.append(function)
    return function


class Watched:
    """A Python program under `run`: how it ended, what it printed, and the report."""

    def __init__(self, bench, code, *options, arguments=(), env=None):
        self.script = bench.folder / "watched.py"
        self.script.write_text(textwrap.dedent(code).lstrip("\n"))
        file = bench.folder / "watched.json"
        command = [sys.executable, str(self.script), *arguments]
        file.unlink(missing_ok=True)
        done = subprocess.run([bench.binary, "run", "--json", "-o", file, *options, "--", *command],
                              capture_output=True, text=True, errors="replace", timeout=300,
                              env=env, stdin=subprocess.DEVNULL)
        self.exit, self.lines, self.errors = done.returncode, done.stdout.splitlines(), done.stderr
        if not file.exists():
            raise AssertionError(f"no report; exit {self.exit}; {self.errors[-500:]}")
        self.report = json.loads(file.read_text())
        if "error" in self.report:
            raise AssertionError(f"exit {self.exit}; {self.report['error']['message']}")
        self.run = self.report["run"]
        bench.reports.append((f"run {' '.join(options)} -- {self.script.name}", self.exit,
                              f"{done.stdout}{self.errors[-4000:]}\n{self.render(bench)}"))

    def render(self, bench):
        """What an operator would see of the story."""
        story = self.run["story"]
        return story["text"] if story else f"no story; limits {self.run['limits']}"

    def findings(self):
        return [each["id"] for each in self.report["findings"]]

    def loads(self, path):
        return [each for each in self.run["events"]
                if each["kind"] == "load" and each["path"] == str(path)]

    def line(self, text):
        """The number of the one line of the program that holds `text`."""
        return next(number for number, line in enumerate(self.script.read_text().splitlines(), 1)
                    if text in line)

    def expect(self, exit, lines):
        """Raises AssertionError with how it ended instead."""
        if (self.exit, self.lines) != (exit, lines):
            raise AssertionError(f"exit {self.exit}, not {exit}; printed {self.lines}, not {lines}; "
                                 f"found {self.findings()}; {self.errors[-800:]}")

    def expect_load(self, path, text):
        """One load of this file, from the line of the program that holds `text`."""
        events = self.loads(path)
        places = [(frame["file"], frame["line"]) for event in events for frame in event["python"]]
        if len(events) != 1 or (str(self.script), self.line(text)) not in places:
            raise AssertionError(f"{len(events)} loads of {path} from {places}")


def need_stub(bench):
    if not bench.stub:
        raise Skip("no stub given with --stub")
    return bench.stub


def with_flashinfer(bench):
    """An environment in which the package's record says that it is installed."""
    site = pathlib.Path(bench.folder, "site")
    record = site / "flashinfer_python-0.6.17.dist-info"
    record.mkdir(parents=True, exist_ok=True)
    (record / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: flashinfer-python\nVersion: 0.6.17\n")
    paths = [str(site), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": ":".join(filter(None, paths))}


def sharing(stub):
    return SHARING.format(load=f"load_below({stub!r})")


@scenario
def run_of_pytorch_that_shares_memory(bench):
    bench.need_torch()
    watched = Watched(bench, SHARING.format(load="pass"))
    watched.expect(7, ["started", "loaded", "shared"])
    process = next(each for each in watched.run["processes"]
                   if each["pid"] == watched.run["judged_pid"])
    if process["judged"] != "exit":
        raise AssertionError(f"judged at {process['judged']}: {process['not_judged']}")
    runtimes = [each["path"] for each in watched.run["events"] if "libcudart" in each["path"]]
    if not runtimes:
        raise AssertionError("no runtime was recorded")
    return f"{len(watched.run['events'])} events; {os.path.basename(runtimes[0])}; " \
           f"{', '.join(watched.findings())}"


@scenario
def run_tells_who_loaded_the_stub(bench):
    bench.need_torch()
    stub = need_stub(bench)
    watched = Watched(bench, sharing(stub))
    watched.expect(7, ["started", "loaded", "shared"])
    watched.expect_load(stub, "load_below(" + repr(stub))
    if "RT03" not in watched.findings():
        raise AssertionError(f"found {watched.findings()}")
    return watched.run["story"]["text"]


@scenario
def run_gated_ends_before_the_handle(bench):
    """FlashInfer before its fix is installed beside: its scan would take the stub."""
    bench.need_torch()
    stub = need_stub(bench)
    env = with_flashinfer(bench)
    # What is said of the machine is no matter of this scenario.
    gate = ("--gate", "--fail-on", "critical")
    plain = Watched(bench, SHARING.format(load="pass"), *gate, env=env)
    plain.expect(7, ["started", "loaded", "shared"])
    watched = Watched(bench, sharing(stub), *gate, env=env)
    watched.expect(1, ["started"])
    if not watched.run["gated"]:
        raise AssertionError("the report does not say that the gate fired")
    return f"{watched.run['duration_seconds']:.1f} s; {', '.join(watched.findings())}"


@scenario
def run_judges_a_server_when_it_is_ready(bench):
    bench.need_torch()
    stub = need_stub(bench)
    waiting = f"load_below({stub!r}); print('serving', flush=True); time.sleep(300)"
    watched = Watched(bench, SHARING.format(load=waiting), "--ready-when", "output:^serving",
                      "--then", "stop")
    if watched.exit not in (0, 1) or not (watched.run["ready"] and watched.run["stopped"]):
        raise AssertionError(f"exit {watched.exit}, ready {watched.run['ready']}, stopped "
                             f"{watched.run['stopped']}; {watched.errors[-500:]}")
    watched.expect_load(stub, "load_below(" + repr(stub))
    return f"exit {watched.exit}; {', '.join(watched.findings())}"


@scenario
def run_of_two_ranks_on_one_card(bench):
    bench.need_torch()
    stub = need_stub(bench)
    for arguments in ([""], [stub]):
        watched = Watched(bench, RANKS, arguments=arguments)
        watched.expect(0, ["[0, 0]"])
        judged = [each for each in watched.run["processes"] if each["judged"] == "exit"]
        if len(judged) < 2:
            raise AssertionError(f"{len(judged)} processes judged: {watched.run['processes']}")
    events = watched.loads(stub)
    if len(events) != 1 or events[0]["pid"] != watched.run["judged_pid"]:
        raise AssertionError("the report is not about the rank that loaded the stub")
    return f"{len(judged)} judged; the odd one is PID {events[0]['pid']}; " \
           f"{', '.join(watched.findings())}"


@scenario
def run_adds_little_to_the_import_of_pytorch(bench):
    """Until the last line of the program: what judging it at its end takes comes on top."""
    bench.need_torch()
    code = "import torch, time; print(time.monotonic_ns())"
    bare, watched, whole = [], [], []
    for _ in range(IMPORT_ROUNDS + 1):
        for before, times in (((), bare), ((bench.binary, "run", "-o", "/dev/null", "--"), watched)):
            began = time.monotonic_ns()
            done = subprocess.run([*before, sys.executable, "-c", code], capture_output=True,
                                  check=True, timeout=300)
            ended = time.monotonic_ns()
            times.append(int(done.stdout) - began)
        whole.append(ended - began)
    ratio = statistics.median(b / a for a, b in zip(bare[1:], watched[1:]))
    seen = f"bare {statistics.median(bare[1:]) / 1e6:.0f} ms, watched x{ratio:.3f} until its last " \
           f"line, {statistics.median(whole[1:]) / 1e6:.0f} ms with the report"
    if ratio > IMPORT_LIMIT:
        raise AssertionError(seen)
    return seen


@scenario
def run_leaves_nothing_behind(bench):
    place = pathlib.Path(bench.folder, "place")
    place.mkdir(exist_ok=True)
    subprocess.run([bench.binary, "run", "-o", "/dev/null", "--", "nvidia-smi", "-L"],
                   capture_output=True, env={**os.environ, "TMPDIR": str(place)}, timeout=60)
    if os.listdir(place):
        raise AssertionError(f"left: {os.listdir(place)}")
    return "its folder is empty"
