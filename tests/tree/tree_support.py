"""Helpers of the tests of `tree` and `--all`: real servers, and documents that are validated."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cli"), str(HERE.parent / "run")]
import jsonschema  # noqa: E402
import support  # noqa: E402
from story_tree import python_environment  # noqa: E402
from support import SOURCE, clean_environment, doctor  # noqa: E402

VALIDATOR = jsonschema.Draft202012Validator(
    json.loads((SOURCE / "docs/tree.schema.json").read_text()))
TITLES = {"api": "python serve.py --port 8000", "tracker": "python -c tracker_main(5)",
          "engine": "VLLM::EngineCore", "rank": "VLLM::Worker_TP#"}


class Server:
    """tests/tree/server.py, running; PIDs by role."""

    def __init__(self, test, python, ranks, engine=(), titles=None, env=None, prefix=()):
        program = test.folder / "server.py"
        if not program.exists():
            shutil.copyfile(HERE / "server.py", program)
        plan = {"ranks": [list(map(str, each)) for each in ranks],
                "engine": list(map(str, engine)), "titles": TITLES if titles is None else titles}
        self.process = subprocess.Popen(
            [*prefix, python, "-I", program, "api", json.dumps(plan), "-" * 64],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/",
            env=clean_environment(**(env or {})))
        test.addCleanup(self.end)
        self.pids = {}
        while len(self.pids) < 3 + len(ranks):
            line = self.process.stdout.readline().decode()
            if not line:
                raise RuntimeError("the server ended")
            role, pid = line.split()
            self.pids[role] = int(pid)

    @property
    def pid(self):
        return self.pids["api"]

    def ranks(self):
        return [pid for role, pid in sorted(self.pids.items()) if role.startswith("rank")]

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(20)


class TreeCase(support.Case):
    def wheels(self, *names):
        """An interpreter in whose environment these fixtures are installed, and its site."""
        return python_environment(self.folder, names, self)

    def stub_world(self):
        """What ranks need for FlashInfer's old rule to go wrong by the order of addresses."""
        python, site = self.wheels("cudart-12.8", "tilelang-0.1.11", "flashinfer-0.6.17")
        runtime = site / "nvidia/cuda_runtime/lib/libcudart.so.12"
        stub = site / "tilelang/lib/libcudart_stub.so"
        return python, runtime, stub

    def tree(self, pid, *arguments, codes=(0, 1, 3), **options):
        """The JSON document of a tree."""
        return self.many("tree", "--pid", pid, *arguments, codes=codes, **options)

    def many(self, *arguments, codes=(0, 1, 3), **options):
        ended = doctor(*arguments, "--json", **options)
        self.assertIn(ended.code, codes, ended.message)
        document = json.loads(ended.out)
        VALIDATOR.validate(document)
        self.assertEqual(document["verdict"]["exit_code"], ended.code)
        return document


def by_pid(document, pid):
    return next(each for each in document["processes"] if each["pid"] == pid)


def groups_by_pid(document):
    return {pid: each["group"] for each in document["groups"] for pid in each["pids"]}


main = support.main
__all__ = ["Server", "TreeCase", "by_pid", "doctor", "groups_by_pid", "main", "os", "support"]
