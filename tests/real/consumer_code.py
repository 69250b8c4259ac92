"""The scan functions of real consumers, cut out of their wheels' files."""
import ast

import support

# Policy, wheel's folder, file.
FLASHINFER = "flashinfer/comm/cuda_ipc.py"
SGLANG = "sglang/srt/distributed/device_communicators/cuda_wrapper.py"
SCANS = [
    ("flashinfer-legacy-rt10", "flashinfer-0.6.13", FLASHINFER),
    ("flashinfer-legacy-rt11", "flashinfer-0.6.17", FLASHINFER),
    ("flashinfer-2026-09", "flashinfer-0.7.4", FLASHINFER),
    ("sglang-legacy", "sglang-0.5.9", SGLANG),
    ("sglang-2026-07", "sglang-0.5.23", SGLANG),
]
WANTED = {"_is_library_filename", "find_loaded_library", "find_loaded_libraries"}


def scan_source(test, wheel, path):
    """The source of the scan, with the modules that it uses."""
    text = support.fixture(test, wheel, path).read_text()
    parts = [ast.get_source_segment(text, node) for node in ast.parse(text).body
             if isinstance(node, ast.FunctionDef) and node.name in WANTED]
    if not parts:
        raise AssertionError(f"{wheel}: no scan function in {path}")
    return "import os, re\nfrom typing import *\n" + "\n\n".join(parts)


def ask_consumers(test, victim):
    """What each consumer's own code does in the victim, by policy."""
    binds = {row["id"]: row["binds"] for row in
             support.json.loads(support.doctor("policies", "--json").out)["policies"]}
    answers = {}
    for policy, wheel, path in SCANS:
        file = test.folder / "answer"
        victim.do(f"try_rule({scan_source(test, wheel, path)!r}, 'find_loaded_library', "
                  f"{binds[policy]!r}, {str(file)!r})")
        answers[policy] = support.json.loads(file.read_text())
        file.unlink()
    return answers
