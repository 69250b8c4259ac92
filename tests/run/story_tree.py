"""A server's package tree as it was reported upstream (vllm#47586): a scan over the models imports
one that imports TileLang, whose library brings a private stub of the CUDA runtime."""
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import support

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
# The stub's release and the names in it.
STUBS = {"tilelang-0.1.11": "libcudart_stub.so", "tilelang-0.1.12": "libstub_cudart.so",
         "tilelang-native": "libcudart_stub.so"}
# What the real libtilelang.so needs; fetched only when asked for (scripts/fetch-fixtures --with).
NATIVE = ("tilelang-native", "tvm-ffi-0.1", "z3-4.15")

EAGER = """
import tilelang


def kernel():
    return tilelang.BROUGHT
"""
LAZY = """
def kernel():
    import tilelang
    return tilelang.BROUGHT
"""
FILES = {
    "serving/__init__.py": "",
    "serving/models/__init__.py": "",
    "serving/models/a_plain_one.py": "NAME = 'plain'\n",
    "serving/models/deepseek_v4.py": """
        NAME = "deepseek_v4"
        from serving import mhc
    """,
    "serving/registry.py": """
        import importlib
        import pkgutil

        import serving.models


        def scan():
            for each in pkgutil.iter_modules(serving.models.__path__, "serving.models."):
                importlib.import_module(each.name)


        scan()
    """,
    # The stack is taken in the line of the load: Python's own word on who is asking.
    "tilelang/__init__.py": """
        import ctypes
        import pathlib
        import traceback

        LIBRARY = pathlib.Path(__file__).parent / "lib/libtilelang.so"
        STACK, BROUGHT = traceback.extract_stack(), ctypes.CDLL(str(LIBRARY))
    """,
    # The arena that is given back lies above the stub, so that the runtime, loaded later, does too.
    "serving/server.py": """
        import ctypes
        import json
        import mmap
        import os
        import pathlib
        import sys

        arena = mmap.mmap(-1, 64 << 20)
        import serving.registry
        arena.close()
        runtime = ctypes.CDLL(os.environ["REAL_RUNTIME"])
        told = {"maps": os.fsdecode(pathlib.Path("/proc/self/maps").read_bytes())}
        if "tilelang" in sys.modules:
            told["stack"] = [[f.filename, f.lineno, f.name] for f in sys.modules["tilelang"].STACK]
        print("weights are being loaded", flush=True)
        pathlib.Path(os.environ["TOLD"]).write_text(json.dumps(told))
        sys.exit(int(sys.argv[1]))
    """,
}


def python_environment(folder, wheels, test):
    """A virtual environment with what the wheels' fixtures hold; its interpreter and its site."""
    root = folder / "venv"
    site = root / f"lib/python{VERSION}/site-packages"
    site.mkdir(parents=True)
    (root / "bin").mkdir()
    real = os.path.realpath(support.PYTHON)
    (root / "bin/python").symlink_to(real)
    (root / "pyvenv.cfg").write_text(f"home = {os.path.dirname(real)}\nversion = {VERSION}.0\n")
    for wheel in wheels:
        shutil.copytree(support.fixture(test, wheel, "*.dist-info").parent, site,
                        dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns(".complete", "include", "licenses"))
    return root / "bin/python", site


class Tree:
    """The tree in a virtual environment of its own; `mhc` is the text of serving/mhc.py. Its
    libtilelang.so is a toy that needs the real stub, but for the wheel "tilelang-native"."""

    def __init__(self, test, tilelang="tilelang-0.1.11", mhc=EAGER, consumer="flashinfer-0.6.17"):
        support.need_program(test, "gcc")
        self.python, self.site = python_environment(
            test.folder / f"tree-{tilelang}",
            ("cudart-12.8", consumer, *(NATIVE if tilelang in NATIVE else (tilelang,))), test)
        for name, text in {**FILES, "serving/mhc.py": mhc}.items():
            self.file(name).parent.mkdir(parents=True, exist_ok=True)
            self.file(name).write_text(textwrap.dedent(text).lstrip("\n"))
        self.stub = self.site / "tilelang/lib" / STUBS[tilelang]
        self.library = self.stub.with_name("libtilelang.so")
        self.runtime = self.site / "nvidia/cuda_runtime/lib/libcudart.so.12"
        self.told = test.folder / f"told-{tilelang}"
        if tilelang not in NATIVE:
            self.compile_library()

    def compile_library(self):
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", self.library, "-Wl,--no-as-needed",
             "-Wl,-soname,libtilelang.so", f"-L{self.stub.parent}", f"-l:{self.stub.name}",
             "-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined"],
            input=b"int tilelang_version(void) { return 11; }", check=True)

    def file(self, name):
        return pathlib.Path(self.site, name)

    def line(self, name, text):
        """The number of the one line that holds `text`."""
        found = [number for number, line in enumerate(self.file(name).read_text().splitlines(), 1)
                 if text in line]
        if len(found) != 1:
            raise AssertionError(f"{name}: {len(found)} lines with {text!r}")
        return found[0]

    def command(self, code=0):
        return [self.python, "-m", "serving.server", str(code)]

    def environment(self):
        return support.clean_environment(REAL_RUNTIME=str(self.runtime), TOLD=str(self.told))
