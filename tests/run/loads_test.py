"""What is loaded, when and by whom: the record beside the process's own maps, Python's own stack
and glibc's own words."""
import json
import os
import pathlib
import signal
import subprocess
import time

import support
from watching import RunCase, loader_words, mapped
from support import findings, need_program

THREADS = 16
MANY = 10_000
AWAY = 3_000  # More than one connection holds.
HOOK = """
#define _GNU_SOURCE
#include <dlfcn.h>
void *dlopen(const char *name, int flags) {
  void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  return next(name, flags);
}
"""
# A module without the headers of Python: its definition as the stable part of the ABI has it.
EXTENSION = """
extern void *PyModule_Create2(void *definition, int version);
static struct { long references; void *type, *init; long index; void *copy;
  const char *name, *text; long size; void *rest[5]; } definition = {1, 0, 0, 0, 0, "extension"};
void *PyInit_extension(void) { return PyModule_Create2(&definition, 1013); }
"""


class Loads(RunCase):
    def assert_as_told(self, ended, told, event_names=("libcudart.so.12", "libcudart.so.13")):
        """The process's own maps hold exactly what was loaded, and its stacks are the recorded."""
        for name in event_names:
            self.assertEqual({each["path"] for each in ended.events(name)}, mapped(told, name))
        events = {each["path"]: each for each in ended.run["events"]}
        for load in told["loads"]:
            self.assertEqual(events[load["path"]]["tid"], load["tid"])
            self.assert_stack(events[load["path"]], load["stack"])

    def test_two_runtimes_in_both_orders(self):
        paths = [self.runtime("12.8", folder="a"), self.runtime("13.0", folder="b")]
        for order in (paths, paths[::-1]):
            with self.subTest(first=order[0].name):
                ended = self.watch(*self.python(*(f"load({str(path)!r})" for path in order),
                                                "tell('both')", "sys.exit(5)"))
                self.assertEqual(ended.code, 5, ended.err)
                told = self.told("both")
                self.assert_as_told(ended, told)
                self.assertEqual([each["path"] for each in ended.run["events"]
                                  if each["path"] in map(str, paths)], [str(p) for p in order])
                self.assertEqual(ended.run["judged_pid"], told["pid"])
                self.assertEqual(ended.judged["judged"], "exit")
                self.assertEqual(findings(ended.report)["RT06"], "warning")

    def test_who_asked_is_what_glibc_says(self):
        stub = self.runtime("tilelang-0.1.11")
        user = self.compile("libuser.so", "int user(void) { return 1; }", "-Wl,--no-as-needed",
                            f"-L{stub.parent}", f"-l:{stub.name}", "-Wl,-rpath,$ORIGIN",
                            "-Wl,--allow-shlib-undefined")
        real = self.runtime("12.8")
        ended = self.watch(
            *self.python(f"load({str(user)!r})", f"load({str(real)!r})"),
            env=self.environment(LD_DEBUG="files",
                                 LD_DEBUG_OUTPUT=str(self.told_folder / "loader")))
        self.assertEqual(ended.code, 0, ended.err)
        said = loader_words(self.told_folder)
        for path in (stub, real):
            event, = ended.events(path.name)
            self.assertIn((event["requested"], event["cause"], event["requester"]), said)
        self.assertEqual(ended.events(stub.name)[0]["requester"], str(user))

    def test_an_extension_module_that_needs_the_runtime(self):
        path = self.runtime("12.8")
        module = self.compile("extension.so", EXTENSION, "-Wl,--no-as-needed", f"-L{path.parent}",
                              f"-l:{path.name}", "-Wl,-rpath,$ORIGIN",
                              "-Wl,--allow-shlib-undefined")
        ended = self.watch(*self.python(
            f"sys.path.append({str(module.parent)!r})",
            "stack, module = traceback.extract_stack(), __import__('extension')",
            "loads.append({'path': module.__file__, 'tid': threading.get_native_id(), 'stack': "
            "[[f.filename, f.lineno, f.name] for f in reversed(stack)]})", "tell('it')"))
        self.assertEqual(ended.code, 0, ended.err)
        self.assert_as_told(ended, self.told("it"))
        event, = ended.events(path.name)
        self.assertEqual((event["cause"], event["requester"]), ("needed", str(module)))
        self.assertEqual(ended.events(module.name)[0]["cause"], "opened")

    def test_threads_that_load_at_once(self):
        paths = [self.runtime("12.8", folder=f"of-{each}") for each in range(THREADS)]
        ended = self.watch(*self.python(
            f"paths = {[str(path) for path in paths]!r}", f"gate = threading.Barrier({THREADS})",
            "def work(path): gate.wait(); load(path)",
            "threads = [threading.Thread(target=work, args=(path,)) for path in paths]",
            "[each.start() for each in threads]", "[each.join() for each in threads]",
            "tell('all')"))
        self.assertEqual(ended.code, 0, ended.err)
        told = self.told("all")
        self.assertEqual(len({load["tid"] for load in told["loads"]}), THREADS)
        self.assertEqual(len(ended.events("libcudart.so.12")), THREADS)
        self.assert_as_told(ended, told)

    def test_unloaded_and_loaded_again(self):
        path = self.runtime("12.8")
        load = f"library = load({str(path)!r})"
        ended = self.watch(*self.python(load, "unload(library)", "tell('without')", load,
                                        "tell('with')"))
        self.assertEqual(ended.code, 0, ended.err)
        self.assertEqual([mapped(self.told(each), path.name) for each in ("without", "with")],
                         [set(), {str(path)}])
        self.assertEqual([each["kind"] for each in ended.run["events"]
                          if each["path"] == str(path)], ["load", "unload", "load"])

    def test_a_hook_that_was_preloaded(self):
        hook = self.compile("libhook.so", HOOK, "-ldl")
        real = self.runtime("12.8")
        ended = self.watch(*self.python(f"load({str(real)!r})", "tell('it')"), env=self.environment(
            LD_PRELOAD=str(hook), LD_DEBUG="files",
            LD_DEBUG_OUTPUT=str(self.told_folder / "loader")))
        self.assertEqual((ended.code, ended.err), (0, b""))
        event, = ended.events(hook.name)
        self.assertEqual((event["cause"], event["python"]), ("preload", []))
        event, = ended.events(real.name)
        # The loader sees the hook as the one who asks; Python's stack tells who is behind it.
        self.assertEqual(event["requester"], str(hook))
        self.assertIn((str(real), "opened", str(hook)), loader_words(self.told_folder))
        self.assert_as_told(ended, self.told("it"), [real.name])

    def test_another_namespace_of_the_loader(self):
        path = self.runtime("12.8")
        ended = self.watch(*self.python(f"load_in_namespace({str(path)!r})", "tell('it')"))
        self.assertEqual(ended.code, 0, ended.err)
        event, = ended.events(path.name)
        self.assertEqual((event["cause"], mapped(self.told("it"), path.name)),
                         ("opened", {str(path)}))
        self.assertNotEqual(event["loader_namespace"], 0)

    def test_ten_thousand_loads(self):
        path = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        ended = self.watch(*self.python(
            "import _ctypes",
            f"for _ in range({MANY}): _ctypes.dlclose(_ctypes.dlopen({str(path)!r}, os.RTLD_NOW))",
            "tell('end')"))
        self.assertEqual(ended.code, 0, ended.err)
        lost = sum(each["lost"] for each in ended.run["processes"])
        for kind in ("load", "unload"):
            self.assertLessEqual(len(ended.events(path.name, kind)), MANY)
        count = len(ended.events(path.name)) + len(ended.events(path.name, "unload"))
        self.assertEqual(count + lost + ended.run["events_dropped"], 2 * MANY)
        self.assertGreater(count, MANY)

    def test_a_doctor_that_could_not_hear_for_a_while_misses_nothing_silently(self):
        """It is stopped while the command loads, and goes on when the command has ended: all is still to be read."""
        path = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        begun, done, report = (self.folder / each for each in ("begun", "done", "report"))
        code = f"""
import _ctypes, os, pathlib, time
load = lambda: _ctypes.dlclose(_ctypes.dlopen({str(path)!r}, os.RTLD_NOW))
load()
pathlib.Path({str(begun)!r}).touch()
time.sleep(0.5)
for _ in range({AWAY}): load()
pathlib.Path({str(done)!r}).touch()
"""
        watched = subprocess.Popen([support.DOCTOR, "run", "--json", "-o", report, "--", support.PYTHON, "-I", "-c", code],
                                   env=self.environment(), stdin=subprocess.DEVNULL)
        self.addCleanup(watched.kill)
        self.wait_until(begun.exists)
        watched.send_signal(signal.SIGSTOP)
        self.wait_until(done.exists)
        time.sleep(0.5)  # The command comes to its end.
        watched.send_signal(signal.SIGCONT)
        self.assertEqual(watched.wait(60), 0)
        run = json.loads(report.read_text())["run"]
        heard = sum(os.path.basename(each["path"]) == path.name for each in run["events"])
        lost = sum(each["lost"] for each in run["processes"])
        self.assertEqual(heard + lost + run["events_dropped"], 2 * (AWAY + 1), run["limits"])
        self.assertGreater(heard, AWAY)

    def test_a_program_linked_with_the_runtime(self):
        path = self.runtime("12.8")
        program = self.executable(
            "linked", "int main(void) { return 4; }", "-Wl,--no-as-needed", f"-L{path.parent}",
            f"-l:{path.name}", "-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined")
        ended = self.watch(program)
        self.assertEqual(ended.code, 4, ended.err)
        event, = ended.events(path.name)
        self.assertEqual((event["cause"], event["requester"]), ("needed", str(program)))

    def test_the_record_is_the_files_that_strace_sees_opened(self):
        need_program(self, "strace")
        paths = [self.runtime("12.8"), self.runtime("13.0"), self.runtime("tilelang-0.1.11")]
        log = self.told_folder / "trace"
        ended = self.watch("strace", "-f", "-o", log, "-e", "trace=openat",
                           *self.python(*(f"load({str(path)!r})" for path in paths), "sys.exit(6)"))
        self.assertEqual(ended.code, 6, ended.err)
        opened = [line.split('"')[1] for line in log.read_text().splitlines()
                  if '"' in line and line.split('"')[1] in map(str, paths)]
        self.assertEqual([each["path"] for each in ended.run["events"]
                          if pathlib.Path(each["path"]) in paths], list(dict.fromkeys(opened)))
        # strace holds it, so that nobody else can: it was looked at when it loaded.
        self.assertEqual(ended.judged["judged"], "load")
        self.assertEqual(os.path.realpath(ended.judged["executable"]),
                         os.path.realpath(support.PYTHON))


support.main()
