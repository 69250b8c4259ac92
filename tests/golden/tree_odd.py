"""Prints what `tree` says of a real server whose third rank takes a stub, in namespaces of its own: the
same bytes on every machine, the time apart. Its text is tests/golden/tree_odd.txt, and in README.md.

Usage: tree_odd.py PATH_OF_CUDART_DOCTOR [EXPECTED]   (root; the wheels of scripts/fetch-fixtures)

Prints the text, or with EXPECTED what is another there.
"""
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
FIXTURES = pathlib.Path(os.environ.get("CUDART_DOCTOR_FIXTURES", CACHE + "/cudart-doctor/fixtures"))
SERVER = pathlib.Path(__file__).resolve().parent.parent / "tree/server.py"
INSIDE = "--inside"
PID = 4100
TITLES = {"api": "vllm serve MODEL --port 8000", "tracker": "python3 -c tracker_main(5)",
          "engine": "VLLM::EngineCore", "rank": "VLLM::Worker_TP#"}


def inside(doctor):
    """In a mount, PID and host name namespace of its own."""
    # What is needed of the machine, before it is hidden.
    server, program = SERVER.read_bytes(), os.open(doctor, os.O_RDONLY)
    for folder in ("/opt", "/usr/local"):
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    subprocess.run(["hostname", "gpu-17"], check=True)
    site = pathlib.Path("/opt/venv/lib/python3.12/site-packages")
    site.mkdir(parents=True)
    pathlib.Path("/opt/venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.3\n")
    pathlib.Path("/opt/server.py").write_bytes(server)
    for wheel in ("cudart-12.8", "tilelang-0.1.11", "flashinfer-0.6.17"):
        shutil.copytree(FIXTURES / wheel, site, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.py", "include", "licenses"))
    runtime = str(site / "nvidia/cuda_runtime/lib/libcudart.so.12")
    stub = str(site / "tilelang/lib/libcudart_stub.so")
    good, bad = [stub, runtime], [runtime, stub]
    plan = {"engine": [runtime], "ranks": [good, good, bad, good], "titles": TITLES}
    pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(PID - 1))
    process = subprocess.Popen(
        ["/usr/bin/python3", "-I", "/opt/server.py", "api", json.dumps(plan), "-" * 64],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/",
        env={"PATH": "/usr/bin:/bin", "VIRTUAL_ENV": "/opt/venv"})
    for _ in range(3 + len(plan["ranks"])):
        process.stdout.readline()
    done = subprocess.run([f"/proc/self/fd/{program}", "tree", "--pid", str(PID)],
                          pass_fds=[program], stdout=subprocess.PIPE)
    process.stdin.close()
    process.wait()
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-12-01T03:00:00Z", done.stdout.decode())
    sys.stdout.write(text)
    return 0 if done.returncode == 1 else 1


def main():
    if os.geteuid() != 0:
        print("needs root: namespaces of its own")
        return 77
    if sys.argv[1] == INSIDE:
        return inside(sys.argv[2])
    doctor = os.path.abspath(sys.argv[1])
    done = subprocess.run(["unshare", "-m", "-p", "-u", "-f", "--kill-child", "--mount-proc",
                           sys.executable, __file__, INSIDE, doctor],
                          stdout=subprocess.PIPE, text=True)
    if len(sys.argv) == 2 or done.returncode != 0:
        sys.stdout.write(done.stdout)
        return done.returncode
    expected = pathlib.Path(sys.argv[2]).read_text()
    difference = difflib.unified_diff(expected.splitlines(True), done.stdout.splitlines(True))
    sys.stdout.writelines(difference)
    return int(done.stdout != expected)


sys.exit(main())
