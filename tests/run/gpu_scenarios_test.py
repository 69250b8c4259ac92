"""What scripts/gpu-check does with `run` on a machine with a GPU, here on a PyTorch of toys: it
loads a real runtime, and its memory is made up."""
import os
import sys
import textwrap

import watching
import support

sys.path.insert(0, str(support.SOURCE / "scripts"))
import gpu_run  # noqa: E402
from gpu_pair import Skip  # noqa: E402

TORCH = """
    import ctypes
    import pathlib
    from . import cuda, multiprocessing

    runtime = ctypes.CDLL(str(pathlib.Path(__file__).parent / "lib/libcudart.so.12"))
    __version__ = "0"


    class Tensor:
        def __init__(self, count, value):
            self.count, self.value = count, value

        def sum(self):
            return self.count * self.value

        def untyped_storage(self):
            return self

        def _share_cuda_(self):
            return 0, bytes(64)


    def full(shape, value, device):
        return Tensor(shape[0], value)


    def ones(count, device):
        return Tensor(count, 1.0)
"""


class Scenarios(watching.RunCase):
    def setUp(self):
        super().setUp()
        self.runtime("12.8", folder="torch/lib")
        for name, text in {"torch/__init__.py": TORCH,
                           "torch/cuda.py": "def synchronize():\n    pass\n",
                           "torch/multiprocessing.py": "from multiprocessing import *\n",
                           "bin/nvidia-smi": "#!/bin/sh\nexit 0\n"}.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"))
        (self.folder / "bin/nvidia-smi").chmod(0o755)
        changes = {"PYTHONPATH": str(self.folder), "PATH": f"{self.folder}/bin:/usr/bin:/bin"}
        self.addCleanup(os.environ.update, {name: os.environ.get(name, "") for name in changes})
        os.environ.update(changes)
        self.binary, self.reports = support.DOCTOR, []
        self.stub = str(self.runtime("tilelang-0.1.11"))

    def need_torch(self):
        """There is one, of toys."""

    def test_every_scenario_does_its_work(self):
        for scenario in gpu_run.SCENARIOS:
            # It compares with an import that takes seconds.
            if scenario is gpu_run.run_adds_little_to_the_import_of_pytorch:
                continue
            with self.subTest(scenario.__name__):
                self.assertTrue(scenario(self))

    def test_what_is_missing_is_skipped(self):
        self.stub = None
        with self.assertRaises(Skip):
            gpu_run.run_tells_who_loaded_the_stub(self)


support.main()
