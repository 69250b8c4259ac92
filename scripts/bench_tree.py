"""Time and memory of `cudart-doctor --all` on a node of 1,000 processes, beside the least that any such look must do
(tests/bench/tree_floor.c), lsof and a Python scan. Started by scripts/bench, which has the help.

Two nodes: the ordinary one, where 16 processes hold a runtime (one of them a stub), and one where all do.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from bench_inspect import (SOURCES, CannotMeasure, Row, fixture, make_libraries, measure_rows,
                           table)

PROCESSES = 1000
WITH_CUDA = 16
LIBRARIES = 100  # Of each process.
FLOOR_TARGET = 1.5
PYTHON = os.path.realpath(sys.executable)
SCAN = """
import glob
for maps in glob.glob('/proc/[0-9]*/maps'):
    try:
        with open(maps, errors='surrogateescape') as file:
            if any('libcudart' in line for line in file): print(maps)
    except OSError:
        pass
"""


def compile_programs(folder):
    for name in ("tree_floor", "victim", "measure"):
        subprocess.run(["cc", "-std=gnu11", "-O2", str(SOURCES / f"{name}.c"), "-o", str(folder / name), "-ldl"],
                       check=True)


@contextlib.contextmanager
def victims(folder, lists):
    """A process for each list of libraries; they live until the pipe that is their stdin closes."""
    read_end, write_end = os.pipe()
    running = []
    try:
        for libraries in lists:
            running.append(subprocess.Popen([folder / "victim", libraries], stdin=read_end, stdout=subprocess.PIPE,
                                            close_fds=True))
        os.close(read_end)
        for each in running:
            if not each.stdout.readline().startswith(b"ready"):
                raise CannotMeasure("a process to look at did not start")
            each.stdout.close()
        yield
    finally:
        os.close(write_end)
        for each in running:
            each.wait()


def write_list(folder, name, libraries):
    path = folder / name
    path.write_text("".join(f"{each}\n" for each in libraries))
    return path


def plans(folder):
    """What each process of a node loads, by node."""
    libraries = make_libraries(folder)[:LIBRARIES]
    runtime = fixture("cudart-12.8/nvidia/cuda_runtime/lib/libcudart.so.12")
    other = fixture("cudart-13.0/nvidia/cu13/lib/libcudart.so.13")
    stub = fixture("tilelang-0.1.11/tilelang/lib/libcudart_stub.so")
    if not (runtime and other and stub):
        raise CannotMeasure("the runtimes of scripts/fetch-fixtures are not there")
    plain = write_list(folder, "plain", libraries)
    cuda = write_list(folder, "cuda", runtime + libraries)
    cuda_13 = write_list(folder, "cuda-13", other + libraries)
    with_stub = write_list(folder, "stub", stub + runtime + libraries)
    few = [cuda] * (WITH_CUDA - 2) + [cuda_13, with_stub]
    return {
        f"{PROCESSES:,} processes, {WITH_CUDA} with CUDA": [plain] * (PROCESSES - WITH_CUDA) + few,
        f"{PROCESSES:,} processes, all with CUDA": [cuda] * (PROCESSES - 2) + [cuda_13, with_stub],
    }


def rows_of(options, folder):
    scope = ["--all", "--timeout", "120"]
    rows = [
        Row("cudart-doctor --all", [options.binary, *scope], statuses=(0, 1, 3)),
        Row("floor", [str(folder / "tree_floor")], FLOOR_TARGET),
        Row("lsof -d mem", ["lsof", "-n", "-w", "-d", "mem"], statuses=(0, 1)),
        Row("Python scan", [PYTHON, "-I", "-c", SCAN]),
    ]
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="cudart-doctor-bench.") as name:
        folder = pathlib.Path(name)
        compile_programs(folder)
        for title, lists in plans(folder).items():
            with victims(folder, lists):
                rows = rows_of(options, folder)
                measure_rows(str(folder / "measure"), rows, options.rounds)
            print(f"\n## tree: {title}, {LIBRARIES} libraries each\n\n{table(rows)}", flush=True)
            results.append({"case": title, "rows": [vars(row) for row in rows]})
            if rows[0].problem:
                raise CannotMeasure(f"{rows[0].name}: {rows[0].problem}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1, default=str) + "\n")


if __name__ == "__main__":
    try:
        main()
    except CannotMeasure as problem:
        sys.exit(f"bench_tree: {problem}")
