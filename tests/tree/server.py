"""A server to look at, as a tree of processes: an API server without a GPU, below it a resource
tracker and an engine core, below that the ranks. Every process lives until its stdin closes.

Usage: server.py ROLE PLAN    (PLAN is JSON: see tests/tree/tree_support.py)
"""
import ctypes
import json
import mmap
import os
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
ANONYMOUS = 0x4022  # MAP_NORESERVE | MAP_ANONYMOUS | MAP_PRIVATE


def set_title(title):
    """As setproctitle does it: over the arguments, the rest of them is cleared."""
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    text = os.fsencode(title)[:end - begin - 1]
    ctypes.memset(begin, 0, end - begin)
    ctypes.memmove(begin, text, len(text))


def fill_holes():
    """Takes the holes between mappings, so that what is loaded next lies below all of them."""
    with open("/proc/self/maps") as maps:
        floor = min(int(line.split("-")[0], 16) for line in maps if ".so" in line)
    for size in (1 << 24, 1 << 20, 1 << 16, mmap.PAGESIZE):
        while True:
            at = libc.mmap(None, size, 0, ANONYMOUS, -1, 0)
            if at < floor:
                libc.munmap(at, size)
                break


def load(libraries):
    """The last one comes to lie lowest."""
    for library in libraries:
        fill_holes()
        ctypes.CDLL(library, mode=os.RTLD_LOCAL | os.RTLD_NOW)


def start(plan, role, **environment):
    # The title is written over the arguments: they have to be long enough for it.
    return subprocess.Popen([sys.executable, "-I", __file__, role, json.dumps(plan), "-" * 64],
                            stdin=subprocess.PIPE, env={**os.environ, **environment})


def main(role, plan):
    children = []
    if role == "api":
        children.append(start(plan, "tracker"))
        children.append(start(plan, "engine"))
    elif role == "engine":
        load(plan["engine"])
        for rank in range(len(plan["ranks"])):
            children.append(start(plan, f"rank{rank}", LOCAL_RANK=str(rank),
                                  CUDA_VISIBLE_DEVICES=str(rank)))
    elif role.startswith("rank"):
        load(plan["ranks"][int(role[4:])])
    title = plan["titles"].get(role.rstrip("0123456789"))
    if title:
        set_title(title.replace("#", role.lstrip("abcdefghijklmnopqrstuvwxyz")))
    # One write: all of them write to one pipe.
    os.write(1, f"{role} {os.getpid()}\n".encode())
    sys.stdin.buffer.read()
    for child in children:
        child.stdin.close()
        child.wait()


main(sys.argv[1], json.loads(sys.argv[2]))
