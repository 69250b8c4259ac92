"""Records the bundles of this folder: real processes that load the runtimes of real wheels.

Usage: record.py PATH_OF_CUDART_DOCTOR FOLDER   (root; the wheels of scripts/fetch-fixtures)

Each process has a mount, PID and host name namespace of its own, in which the wheels lie in
/opt/venv and no toolkit is installed, so that a bundle tells nothing of the machine that it was
made on. Long lists of exported names are cut to those that a selection rule binds: the report must
be the same afterwards. Recording again changes the time, inode numbers and nothing else of a report.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
FIXTURES = pathlib.Path(os.environ.get("CUDART_DOCTOR_FIXTURES", CACHE + "/cudart-doctor/fixtures"))
SERVER = pathlib.Path(__file__).resolve().with_name("server.c")
INSIDE = "--inside"
PID = 4121
MOST_EXPORTS = 100  # A look-alike's list is short, and tells what it is.

CUDA_12 = "nvidia/cuda_runtime/lib/libcudart.so.12"
CUDA_13 = "nvidia/cu13/lib/libcudart.so.13"
STUB = "tilelang/lib/libcudart_stub.so"
STATIC = "nvidia/cu13/lib/libcudart_static.a"
OPERATORS = "sgl_kernel/common_ops.abi3.so"  # Built here, with the runtime linked in.

# Wheels; what is loaded, in this order; what then happens to the first of them.
SITUATIONS = {
    "healthy": (["cudart-12.8", "sglang-0.5.23"], [CUDA_12], None),
    "stub_first": (["cudart-12.8", "tilelang-0.1.11", "flashinfer-0.6.17", "sglang-0.5.23"],
                   [STUB, CUDA_12], None),
    "two_majors": (["cudart-12.8", "cudart-13.0", "sglang-0.5.23"], [CUDA_12, CUDA_13], None),
    "deleted": (["cudart-12.8", "sglang-0.5.9"], [CUDA_12], "delete"),
    "static_only": (["sglang-0.5.23"], [OPERATORS], None),
    "replaced": (["cudart-12.8", "sglang-0.5.9"], [CUDA_12], "replace"),
}


def build_operators(target):
    """A library of device code, as far as its sections tell, with a static runtime in it."""
    code = '__attribute__((section(".nv_fatbin"), used)) static const char image[64] = {1};'
    target.parent.mkdir(parents=True)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", target, "-Wl,-u,cudaLaunchKernel",
         "-Wl,--exclude-libs,ALL", "-x", "none", FIXTURES / "cudart-13.2" / STATIC, "-ldl", "-lrt",
         "-lpthread"], input=code.encode(), check=True)


def start(site, loads):
    """The server with PID 4121."""
    program = "/opt/venv/bin/python3"  # The name says that packages of Python matter.
    os.makedirs(os.path.dirname(program))
    subprocess.run(["gcc", "-o", program, SERVER, "-ldl"], check=True)
    pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(PID - 1))
    process = subprocess.Popen(
        ["setarch", "-R", program, *(site / path for path in loads)], stdout=subprocess.PIPE,
        cwd="/", env={"PATH": "/usr/bin:/bin", "VIRTUAL_ENV": "/opt/venv"})
    if process.stdout.readline() != b"ready\n":
        sys.exit("the server did not start")
    return process


def cut_exports(bundle, doctor):
    """Leaves only the exported names that a rule binds, and proves that this changes nothing."""
    rules = json.loads(subprocess.check_output([doctor, "policies", "--json"]))["policies"]
    bound = {name for rule in rules for name in rule["binds"]}

    def walk(value):
        if isinstance(value, dict):
            return {key: [name for name in part if name in bound]
                    if key == "exports" and len(part) > MOST_EXPORTS else walk(part)
                    for key, part in value.items()}
        return [walk(part) for part in value] if isinstance(value, list) else value

    file = bundle / "snapshot.json"
    before = reports(bundle, doctor)
    text = json.dumps(walk(json.loads(file.read_text())), separators=(",", ":"))
    file.write_text(text + "\n")
    if reports(bundle, doctor) != before:
        sys.exit(f"{bundle}: the names that were cut are part of the report")


def reports(bundle, doctor):
    return [subprocess.run([doctor, "--from", bundle, *form], stdout=subprocess.PIPE).stdout
            for form in ([], ["-v"])]


def record(name, doctor, bundle):
    """Runs in namespaces of its own."""
    wheels, loads, event = SITUATIONS[name]
    for folder in ("/opt", "/usr/local"):
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    subprocess.run(["hostname", "gpu-17"], check=True)
    site = pathlib.Path("/opt/venv/lib/python3.12/site-packages")
    site.mkdir(parents=True)
    pathlib.Path("/opt/venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.3\n")
    for wheel in wheels:
        # The consumers' sources would become part of the bundle: their version dates them as well.
        shutil.copytree(FIXTURES / wheel, site, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.py", "include", "licenses"))
    if OPERATORS in loads:
        build_operators(site / OPERATORS)
    process = start(site, loads)
    first = site / loads[0]
    if event == "delete":
        first.unlink()
    if event == "replace":
        other = FIXTURES / "cudart-12.4" / CUDA_12
        shutil.copyfile(other, f"{first}.new")
        os.rename(f"{first}.new", first)
    subprocess.run([doctor, "snapshot", "--pid", str(PID), "--probe", "off", "--dir", bundle],
                   check=True)
    process.kill()


def main():
    if sys.argv[1:2] == [INSIDE]:
        return record(*sys.argv[2:])
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    doctor = os.path.abspath(sys.argv[1])
    for name in SITUATIONS:
        bundle = pathlib.Path(sys.argv[2], name).resolve()
        shutil.rmtree(bundle, ignore_errors=True)
        subprocess.run(["unshare", "-m", "-p", "-u", "-f", "--mount-proc", sys.executable,
                        __file__, INSIDE, name, doctor, bundle], check=True)
        cut_exports(bundle, doctor)
        size = sum(each.stat().st_size for each in bundle.iterdir())
        print(f"{name}: {size} bytes")


main()
