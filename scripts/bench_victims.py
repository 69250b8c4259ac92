"""Processes for the benchmarks to look at, and the libraries that they map."""

import contextlib
import os
import pathlib
import subprocess

from bench_common import CannotMeasure, fixture

TOOLKIT = pathlib.Path("/usr/local/cuda/lib64")
MAX_MAP_COUNT = pathlib.Path("/proc/sys/vm/max_map_count")


class NotAllowed(Exception):
    """This machine does not let us set up a case; says why. The case is skipped."""


def make_libraries(folder, count):
    """Small shared libraries (1,000 at most) that differ in soname and build-id, as real ones do.

    One is linked; the others are copies with the two replaced by others of the same length, which takes
    milliseconds instead of a linker run each."""
    functions = "".join(f"int bench_function_{i}(int x) {{ return x + {i}; }}\n" for i in range(64))
    soname, build_id = "libbench000.so", "b0" * 20
    source = folder / "library.c"
    source.write_text(functions)
    first = folder / soname
    flags = ["-shared", "-fPIC", "-O1", f"-Wl,-soname,{soname}", f"-Wl,--build-id=0x{build_id}"]
    subprocess.run(["cc", *flags, str(source), "-o", str(first)], check=True)
    image = first.read_bytes()
    paths = [first]
    for i in range(1, count):
        path = folder / f"libbench{i:03}.so"
        copy = image.replace(soname.encode(), path.name.encode())
        path.write_bytes(copy.replace(bytes.fromhex(build_id), i.to_bytes(20, "big")))
        paths.append(path)
    return paths


def write_list(folder, name, libraries):
    path = folder / name
    path.write_text("".join(f"{each}\n" for each in libraries))
    return path


@contextlib.contextmanager
def process(command):
    """PID and mappings of a victim: it prints "ready MAPPINGS", then lives until its stdin closes."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as victim:
        try:
            ready = victim.stdout.readline().split()
            if ready[:1] != ["ready"]:
                raise CannotMeasure(f"the process to look at did not start: {' '.join(map(str, command[:3]))}")
            yield victim.pid, int(ready[1])
        finally:
            victim.stdin.close()


@contextlib.contextmanager
def victims(folder):
    """Starts a process for each list of libraries that it is called with; they live until the end of the block,
    when the pipe that is their stdin closes."""
    read_end, write_end = os.pipe()
    running = []

    def add(lists):
        started = [subprocess.Popen([folder / "victim", libraries], stdin=read_end, stdout=subprocess.PIPE)
                   for libraries in lists]
        running.extend(started)
        for each in started:
            if not each.stdout.readline().startswith(b"ready"):
                raise CannotMeasure("a process to look at did not start")
            each.stdout.close()

    try:
        yield add
    finally:
        os.close(read_end)
        os.close(write_end)
        for each in running:
            each.wait()


@contextlib.contextmanager
def map_count_limit(wanted):
    """Raises vm.max_map_count for as long as needed."""
    before = int(MAX_MAP_COUNT.read_text())
    if before >= wanted:
        yield
        return
    try:
        MAX_MAP_COUNT.write_text(str(wanted))
    except OSError as error:
        raise NotAllowed(f"vm.max_map_count could not be raised: {error.strerror}") from error
    try:
        yield
    finally:
        MAX_MAP_COUNT.write_text(str(before))


def family():
    """Genuine runtime, look-alike, static copy, the big libraries of wheels or toolkit: what is there."""
    paths = fixture("cudart-12.8/nvidia/*/lib/libcudart.so.*")
    paths += fixture("tilelang-0.1.11/tilelang/lib/libcudart_stub.so")
    paths += fixture("cuda-bindings/cuda/bindings/_bindings/cyruntime.*.so")
    for name in ("cublasLt", "cublas", "curand", "cusparse", "cusolver", "nvrtc"):
        in_toolkit = [path for path in (TOOLKIT / f"lib{name}.so",) if path.exists()]
        paths += fixture(f"*/nvidia/*/lib/lib{name}.so.*") or in_toolkit
    return paths
