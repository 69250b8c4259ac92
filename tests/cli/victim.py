"""A process to look at: executes every line that comes on stdin and answers each with a line."""
import ctypes
import mmap
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
kept = []


def load(path, flags=os.RTLD_NOW | os.RTLD_LOCAL):
    kept.append(ctypes.CDLL(path, mode=flags))


def load_in_namespace(path):
    libc.dlmopen.restype = ctypes.c_void_p
    libc.dlmopen.argtypes = [ctypes.c_long, ctypes.c_char_p, ctypes.c_int]
    if not libc.dlmopen(-1, path.encode(), os.RTLD_NOW):
        raise OSError("dlmopen failed")


def load_from_memory(path, name):
    descriptor = os.memfd_create(name)
    with open(path, "rb") as source:
        os.write(descriptor, source.read())
    load("/proc/self/fd/%d" % descriptor)


def map_file(path, protection=mmap.PROT_READ):
    with open(path, "rb") as source:
        kept.append(mmap.mmap(source.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=protection))


def crowd(count):
    """Mappings of one page each, of which neighbours differ in protection, up to `count` more."""
    page = mmap.PAGESIZE
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    base = libc.mmap(None, count * page, mmap.PROT_READ, 0x4022, -1, 0)  # NORESERVE ANON PRIVATE
    for index in range(0, count, 2):
        if libc.mprotect(base + index * page, page, mmap.PROT_READ | mmap.PROT_WRITE) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")


for line in sys.stdin:
    try:
        exec(line, globals())
        print("ok", flush=True)
    except Exception as error:
        print(repr(error), flush=True)
