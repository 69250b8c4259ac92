"""`tree` looks at processes that are alike once: nobody has the verdict of a process that is not as it is,
and what the first glance cannot read is not called free of CUDA."""
import json
import os
import pathlib
import subprocess
import time

import tree_support as tree
from tree_support import by_pid, doctor, support

MAIN_THREAD_ENDS = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *go_on(void *path) {
  if (dlopen(path, RTLD_NOW) == NULL) return NULL;
  puts("loaded");
  fflush(stdout);
  pause();
  return NULL;
}
int main(int argc, char **argv) {
  pthread_t thread;
  pthread_create(&thread, NULL, go_on, argv[argc - 1]);
  pthread_exit(NULL);
}
"""
# As setproctitle does: over arguments and the beginning of the environment.
OVERWRITE = """
def overwrite(count):
    fields = open('/proc/self/stat', 'rb').read().rpartition(b')')[2].split()
    start, end, environment = (int(fields[number]) for number in (45, 46, 47))
    ctypes.memset(start, 65, end - start)
    ctypes.memset(environment, 66, count - 1)
""".strip()


class Alike(tree.TreeCase):
    def setUp(self):
        super().setUp()
        self.python, site = self.wheels("cudart-12.8", "flashinfer-0.6.17")
        self.runtime_file = site / "nvidia/cuda_runtime/lib/libcudart.so.12"

    def start(self, *commands, **options):
        return self.victim(*commands, python=self.python, **options)

    def check(self, *servers):
        """Each has in the tree what a look at it alone says; their entries."""
        document = self.tree(os.getpid())
        entries = [by_pid(document, server.pid) for server in servers]
        for server, entry in zip(servers, entries):
            alone = json.loads(doctor("--pid", server.pid, "--probe", "off", "--json").out)
            told = entry["verdict"] or {"state": entry["state"], "worst": None, "findings": []}
            self.assertEqual((told["state"], told["worst"], [each["id"] for each in told["findings"]]),
                             (alone["verdict"]["state"], alone["verdict"]["worst"], [each["id"] for each in alone["findings"]]))
        return entries

    def test_one_file_under_two_names(self):
        library = self.compile("libhelper.so", "int help(void) { return 1; }")
        other = self.folder / "other" / "libcudart.so.12"
        other.parent.mkdir()
        os.link(library, other)
        plain = [self.start(f"load({str(library)!r})") for _ in range(3)]
        (entry,) = self.check(self.start(f"load({str(other)!r})"))
        self.assertEqual(entry["state"], "judged")
        document = self.tree(os.getpid())
        self.assertEqual({by_pid(document, each.pid)["state"] for each in plain}, {"without_cuda"})

    def test_the_order_of_a_file_whose_folder_has_the_word(self):
        helper = self.compile("libhelper.so", "int help(void) { return 1; }")
        folder = self.folder / "libcudart-pkg"
        folder.mkdir()
        helper = helper.rename(folder / helper.name)
        hole, fill = "kept.append(libc.mmap(None, 1 << 26, 0, ANONYMOUS, -1, 0))", "libc.munmap(kept[0], 1 << 26)"
        load = [f"load({str(each)!r})" for each in (self.runtime_file, helper)]
        self.check(self.start(hole, load[0], fill, "fill_holes()", load[1]),
                   self.start(hole, "fill_holes()", load[0], fill, load[1]))

    def test_code_that_is_not_executable_any_more(self):
        copy = self.runtime("12.8", name="libnamed-otherwise.so")
        server = self.start(f"load({str(copy)!r})", f"drop_execution({str(copy)!r})")
        (entry,) = self.check(server)
        self.assertEqual(entry["state"], "judged")

    def test_a_file_whose_header_was_spoilt(self):
        copy = self.runtime("12.8", name="libnamed-otherwise.so")
        server = self.start(f"load({str(copy)!r})")
        with open(copy, "r+b") as file:
            file.write(bytes(64))
        (entry,) = self.check(server)
        self.assertNotEqual(entry["state"], "without_cuda")

    def test_an_environment_that_was_overwritten_in_part(self):
        base = support.clean_environment()
        servers = []
        for name in ("VLLM_CUDART_SO_PATX", "VLLM_CUDART_SO_PATH"):
            server = self.start(f"exec({OVERWRITE!r}, globals())", "os.environ.update(dict(os.environ))",
                                env={"AAAA_CUDA_X": "1", name: "/nope", **base})
            server.do(f"overwrite({len('AAAA_CUDA_X=1') + len(name) + len('=/nope') + 2})")
            server.do(f"load({str(self.runtime_file)!r})")
            servers.append(server)
        entries = self.check(*servers)
        self.assertEqual([each["judged_as"] for each in entries], [None, None])

    def test_threads_that_outlive_the_main_one(self):
        support.need_program(self, "gcc")
        program = self.folder / "outlive"
        subprocess.run(["gcc", "-x", "c", "-", "-o", program, "-pthread", "-ldl"], input=MAIN_THREAD_ENDS.encode(), check=True)
        process = subprocess.Popen([program, self.runtime_file], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"loaded\n")
        self.wait_until(lambda: ") Z " in pathlib.Path(f"/proc/{process.pid}/stat").read_text())
        document = self.tree(process.pid, codes=(3,))
        self.assertEqual(by_pid(document, process.pid)["state"], "unread")
        alone = doctor("--pid", process.pid)
        self.assertEqual(alone.code, 3)
        self.assertIn("its main thread has ended", alone.message)

    def test_too_few_descriptors_are_no_clean_bill(self):
        server = self.start(f"load({str(self.runtime('12.8', folder='a'))!r})", f"load({str(self.runtime('12.8', folder='b'))!r})")
        codes = set()
        for count in (4, 7, 8, 9, 10, 12, 16):
            for arguments in (["tree", "--pid"], ["--pid"]):
                ended = doctor(*arguments, server.pid, "--format", "line", program=["prlimit", f"--nofile={count}", support.DOCTOR])
                codes.add(ended.code)
                if ended.code != 127:  # the dynamic loader's
                    self.assertIn(ended.code, (1, 2, 3), f"{count} descriptors: {ended.text}")
                self.assertNotIn("ended while", ended.text + ended.message)
        self.assertLessEqual({1, 3}, codes)


class Meanwhile(tree.TreeCase):
    def test_one_that_becomes_another_program_meanwhile(self):
        python, runtime, stub = self.stub_world()
        others = [subprocess.Popen(["sleep", "600"]) for _ in range(150)]
        try:
            for delay_ms in (15, 30, 45):
                loads = [f"load({str(runtime)!r})", "fill_holes()", f"load({str(stub)!r})"]
                first, second = (self.victim(*loads, python=python) for _ in range(2))
                look = subprocess.Popen([support.DOCTOR, "tree", "--pid", str(os.getpid()), "--json"], stdout=subprocess.PIPE,
                                        env=support.clean_environment())
                time.sleep(delay_ms / 1000)
                first.process.stdin.write(b"os.execv('/bin/sleep', ['sleep', '600'])\n")
                first.process.stdin.flush()
                document = json.loads(look.communicate(timeout=60)[0])
                self.assertEqual(by_pid(document, second.pid)["verdict"]["worst"], "critical", f"{delay_ms} ms")
                first.end()
                second.end()
        finally:
            for each in others:
                each.kill()
                each.wait()


if __name__ == "__main__":
    support.main()
