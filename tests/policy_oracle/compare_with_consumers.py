#!/usr/bin/env python3
"""Compares the scanning rules with the consumers' own code.

The scan functions are cut out of the wheels' files (the packages are not imported), run with
/proc/self/maps replaced by a given text, and their answers are compared with those of policy_eval.

    compare_with_consumers.py POLICY_EVAL [FIXTURES]

FIXTURES (default: $CUDART_DOCTOR_FIXTURES) holds unpacked wheels, one folder each:
flashinfer-*, sglang-*, vllm-*. Exit 77: skipped, there is nothing to compare with.
"""
import ast
import glob
import io
import os
import random
import re
import subprocess
import sys
import typing

SEED = 47586
RANDOM_TEXTS = 300
BOUND = {}  # Names that our rules bind, by policy id.

# Which files define a scan, and which rules a file may belong to. The mark tells them apart.
FILES = [
    ("flashinfer-*/flashinfer/comm/cuda_ipc.py",
     [("def _is_library_filename", ["flashinfer-2026-09"]),
      ("Unexpected filename", ["flashinfer-legacy-rt10", "flashinfer-legacy-rt11"])]),
    ("flashinfer-*/flashinfer/experimental/b12x/comm/pcie/_cuda_ipc.py",
     [("def _find_loaded_library", ["flashinfer-b12x"])]),
    ("sglang-*/sglang/srt/distributed/device_communicators/cuda_wrapper.py",
     [('"stub" not in', ["sglang-2026-07"]),
      ("Unexpected filename", ["sglang-legacy"])]),
    ("vllm-*/vllm/distributed/device_communicators/cuda_wrapper.py",
     [("Unexpected filename", ["vllm-legacy"])]),
    ("vllm-*/vllm/utils/system_utils.py",
     [("filename.startswith(", ["vllm-2026-07", "vllm-2026-10"]),
      ("Unexpected filename", ["vllm-legacy"])]),
]
FUNCTIONS = {"_is_library_filename", "find_loaded_library", "find_loaded_libraries",
             "_find_loaded_library"}

NAMES = [
    "libcudart.so", "libcudart.so.12", "libcudart.so.12.8.90", "libcudart-d0da41ae.so.11.0",
    "libcudart-D0DA41AE.so.11.0", "libcudart_stub.so", "libstub_cudart.so", "libcudart-stub.so",
    "libcudart.so.12 (deleted)", "libcudartfoo.so.1", "libcudart_mock.so",
    "libcudart.41118559.so.12", "libcudart-abc.def.so.12", "libcudart-.so.12",
    "libcudart.something", "libcudart.so.backup", "libcudart.so.12.bak", "libcudart.so.12-old",
    "libcudart.dylib", "libcudart.json", "libcudart_static.a", "mylibcudart.so.12",
    "libcudart/libcuda.so.1", "stubs/libcudart.so", "stub/libcudart.so.12", "LIBCUDART.so.12",
    "libcudart.so.", "libcudart.so.1.", "libcudart.so..1", "libcudart.so.12 (deleted) (deleted)",
    "libcudart.so.12 ", "libcudart.so.12\xa0", "libcudart.so.12\x85", "libcudart.so.1\r2",
    "x\rlibcudart.so.12", "x\r/y/libcudart.so.12", "libcudart.so.so", "libcudart", "libcudart.",
    "libcudart-", "libcudart-dead.so", "libcudart-dead-beef.so.12", "libcuda.so.1", "libc.so.6",
]
DIRECTORIES = ["/r", "/a b", "/site-packages/nvidia/cu13/lib", "/libcudart", "/stub", "/x (deleted)"]
PSEUDO = ["[anon:libcudart]", "[heap]", "", "/memfd:libcudart.so (deleted)", "[anon:libcudart /x]"]


def maps_line(index, path, inode):
    low = 0x7F0000000000 + index * 0x10000
    line = "%x-%x r-xp 00000000 fe:00 %d " % (low, low + 0x1000, inode)
    return (line.ljust(73) + path if path else line) + "\n"


def texts():
    """Every name alone, every pair of names, then random texts."""
    for name in NAMES:
        yield maps_line(0, "/r/" + name, 10)
    for name in PSEUDO:
        yield maps_line(0, name, 0)
    for first in NAMES:
        yield maps_line(0, "/r/" + first, 10) + maps_line(1, "/r/libcudart.so.13", 11)
    generator = random.Random(SEED)
    for _ in range(RANDOM_TEXTS):
        lines = []
        for index in range(generator.randint(0, 8)):
            if generator.random() < 0.15:
                lines.append(maps_line(index, generator.choice(PSEUDO), 0))
            else:
                path = generator.choice(DIRECTORIES) + "/" + generator.choice(NAMES)
                lines.append(maps_line(index, path, generator.randint(10, 15)))
        yield "".join(lines)


def load_scan(path):
    """The scan of a consumer's file as a function of the maps bytes."""
    with open(path, encoding="utf-8") as source:
        tree = ast.parse(source.read(), path)
    wanted = [node for node in tree.body
              if isinstance(node, ast.FunctionDef) and node.name in FUNCTIONS]
    if not wanted:
        raise SystemExit("no scan function in " + path)
    module = ast.Module(body=wanted, type_ignores=[])
    state = {"maps": b""}

    def fake_open(name, *_args, **_kwargs):
        assert name == "/proc/self/maps", name
        return io.TextIOWrapper(io.BytesIO(state["maps"]), encoding="utf-8")

    scope = {"os": os, "re": re, "open": fake_open, "Optional": typing.Optional}
    exec(compile(module, path, "exec"), scope)  # the scan functions alone
    scan = scope.get("find_loaded_library") or scope["_find_loaded_library"]

    def run(maps):
        state["maps"] = maps
        try:
            answer = scan("libcudart")
        except (AssertionError, ValueError) as error:
            return type(error).__name__, ""
        return ("none", "") if answer is None else ("selected", answer)
    return run


def our_answers(program, maps):
    output = subprocess.run([program], input=maps, stdout=subprocess.PIPE, check=True).stdout
    answers = {}
    for record in output.decode("utf-8").split("\0"):
        if record:
            policy, word, names, text = record.split("\t", 3)
            answers[policy] = (word, text)
            BOUND[policy] = names.split()
    return answers


def bound_names(path):
    """The names that the wrapper class of a consumer's file binds, in bind order."""
    with open(path, encoding="utf-8") as source:
        tree = ast.parse(source.read(), path)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.List):
            continue
        if node.targets[0].id in ("exported_functions", "_FUNCTIONS"):
            return [call.args[0].value for call in node.value.elts]
    return None


def check_bound_names(scans):
    """How many wrappers bind a list that none of their rules has."""
    differences = 0
    for path, policies, _ in scans:
        wrapper = path.replace("vllm/utils/system_utils.py",
                               "vllm/distributed/device_communicators/cuda_wrapper.py")
        names = bound_names(wrapper)
        if names not in [BOUND[policy] for policy in policies]:
            differences += 1
            print("%s binds %r\n  none of %s does" % (wrapper, names, ", ".join(policies)))
    return differences


def find_scans(fixtures):
    scans = []
    for pattern, marks in FILES:
        for path in sorted(glob.glob(os.path.join(fixtures, pattern))):
            with open(path, encoding="utf-8") as file:
                source = file.read()
            policies = next((ids for mark, ids in marks if mark in source), None)
            # vLLM's wrapper imports the scan from system_utils in later releases.
            if policies and re.search(r"^def _?find_loaded_librar", source, re.MULTILINE):
                scans.append((path, policies, load_scan(path)))
    return scans


def skip(reason):
    print("not compared: " + reason)
    return 1 if os.environ.get("CI") == "true" else 77


def main():
    program = sys.argv[1]
    fixtures = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("CUDART_DOCTOR_FIXTURES", "")
    if not fixtures:
        return skip("CUDART_DOCTOR_FIXTURES is not set")
    scans = find_scans(fixtures)
    if not scans:
        return skip("no wheel of FlashInfer, SGLang or vLLM in " + fixtures)
    compared = differences = 0
    for text in texts():
        maps = text.encode("utf-8")
        ours = our_answers(program, maps)
        for path, policies, scan in scans:
            theirs = scan(maps)
            for policy in policies:
                compared += 1
                if ours[policy] != theirs:
                    differences += 1
                    print("%s differs from %s\n  ours   %r\n  theirs %r\n%s"
                          % (policy, path, ours[policy], theirs, text))
    differences += check_bound_names(scans)
    rules = sorted({policy for _, policies, _ in scans for policy in policies})
    print("%d answers compared, %d differences; rules: %s" % (compared, differences, ", ".join(rules)))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
