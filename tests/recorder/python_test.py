"""Python code that loads, on every CPython that is here."""
import functools
import glob
import os
import subprocess

import recorded
from recorded import RecorderCase
from support import missing, need_program

NOTE_NO_LOCK = "the thread did not hold Python's lock"


def interpreters():
    """Of 3.8 and later: the system's, and what pyenv has."""
    found = []
    for path in [*sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))),
                 "/usr/bin/python3"]:
        ask = "import sys\nprint(*sys.version_info[:2])"
        done = subprocess.run([path, "-I", "-c", ask], capture_output=True, text=True)
        version = done.stdout.split()
        if done.returncode == 0 and (int(version[0]), int(version[1])) >= (3, 8):
            found.append(path)
    return found


INTERPRETERS = interpreters()
LIBRARIES = [os.path.realpath(path) for path in
             glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/lib/libpython3.*.so.1.0"))
             if path.split("/libpython3.")[1].split(".")[0].isdigit()]


def on_each(values):
    """A test that is done once with each of the values, as a parameter, in a folder of its own."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            if not values:
                missing(self, "no CPython of that kind is here")
            for value in values:
                with self.subTest(value):
                    test(self, value)
        return run
    return decorate

SCRIPT = """import ctypes

def load(path):
    return ctypes.CDLL(path)

class Loader:
    def run(self):
        load({path!r})

Loader().run()
"""


class Python(RecorderCase):
    def script(self, text, name="script.py"):
        path = os.path.join(os.fsencode(self.folder), os.fsencode(name))
        with open(path, "w") as file:
            file.write(text)
        return os.fsdecode(path)

    def own_stack(self, load):
        """Without the frames of the standard library."""
        return [(line, function) for file, line, function in load.stack
                if file in ("script.py", "<string>")]

    @on_each(INTERPRETERS)
    def test_the_stack_with_files_lines_functions_and_modules(self, python):
        toy = self.toy()
        script = self.script(SCRIPT.format(path=str(toy)))
        load = self.record(python, script).load(toy)
        self.assertEqual(self.own_stack(load), [(4, "load"), (8, "run"), (10, "<module>")])
        self.assertEqual(load.stack[0][::2], ("__init__.py", "__init__"))
        self.assertEqual(load.frames[0]["pymod"], "ctypes")
        self.assertEqual(load.frames[-1], {"pyfile": script, "pyline": "10", "pymod": "__main__",
                                           "pyfunc": "<module>"})
        self.assertNotIn("pynote", load)

    @on_each(INTERPRETERS)
    def test_options_that_keep_the_environment_out(self, python):
        toy = self.toy()
        script = self.script(SCRIPT.format(path=str(toy)))
        for options in (["-I"], ["-S"], ["-E"], ["-I", "-S", "-E", "-O"]):
            load = self.record(python, *options, script).load(toy)
            self.assertEqual(len(self.own_stack(load)), 3)

    @on_each(INTERPRETERS)
    def test_an_extension_that_is_imported(self, python):
        self.compile("cuda_extension.so", "void* PyInit_cuda_extension(void) { return 0; }")
        script = self.script(
            "def need():\n    import cuda_extension\n"
            "try:\n    need()\nexcept (ImportError, SystemError):\n    print('tried')\n")
        recording = self.record(python, script)
        self.assertEqual(recording.out, b"tried\n")
        self.assertEqual(recording.load(self.folder / "cuda_extension.so").stack,
                         [("script.py", 2, "need"), ("script.py", 4, "<module>")])

    @on_each(INTERPRETERS)
    def test_a_thread_of_pythons(self, python):
        toy = self.toy()
        script = self.script("import ctypes, threading\n"
                             f"def load():\n    ctypes.CDLL({str(toy)!r})\n"
                             "thread = threading.Thread(target=load)\nthread.start()\nthread.join()\n")
        load = self.record(python, script).load(toy)
        self.assertEqual(self.own_stack(load), [(3, "load")])

    @on_each(INTERPRETERS)
    def test_without_the_lock_the_note_says_so(self, python):
        toy = self.toy()
        script = self.script(f"import ctypes\nctypes.CDLL(None).dlopen({os.fsencode(toy)!r}, 2)\n")
        load = self.record(python, script).load(toy)
        self.assertEqual((load.stack, load["pynote"]), ([], NOTE_NO_LOCK))

    @on_each(INTERPRETERS)
    def test_a_thread_that_python_does_not_know(self, python):
        toy = self.toy()
        starter = self.compile("starter.so", """
            #include <dlfcn.h>
            #include <pthread.h>
            static void* run(void* path) { dlopen(path, RTLD_NOW); return 0; }
            void start(const char* path) {
              pthread_t thread;
              pthread_create(&thread, 0, run, (void*)path);
              pthread_join(thread, 0);
            }""", "-pthread")
        # PyDLL: the lock stays with the thread that waits.
        script = self.script(
            f"import ctypes\nctypes.PyDLL({str(starter)!r}).start({os.fsencode(toy)!r})\n")
        load = self.record(python, script).load(toy)
        self.assertEqual((load.stack, load["pynote"]), ([], NOTE_NO_LOCK))

    @on_each(INTERPRETERS)
    def test_an_error_that_is_set_stays_the_same(self, python):
        toy = self.toy()
        raiser = self.compile("raiser.so", """
            #include <dlfcn.h>
            extern void* PyExc_ValueError;
            void PyErr_SetString(void*, const char*);
            void raise_and_load(const char* path) {
              PyErr_SetString(PyExc_ValueError, "the program's own");
              dlopen(path, RTLD_NOW);
            }""", "-Wl,-z,lazy")
        script = self.script(
            "import ctypes\ntry:\n"
            f"    ctypes.PyDLL({str(raiser)!r}).raise_and_load({os.fsencode(toy)!r})\n"
            "except ValueError as error:\n    print(error)\n")
        recording = self.record(python, script)
        self.assertEqual(recording.out, b"the program's own\n")
        self.assertEqual(self.own_stack(recording.load(toy)), [(3, "<module>")])

    @on_each(INTERPRETERS)
    def test_more_frames_than_a_record_holds(self, python):
        toy = self.toy()
        script = self.script("import ctypes\ndef down(depth):\n    if depth == 0:\n"
                             f"        ctypes.CDLL({str(toy)!r})\n    else:\n        down(depth - 1)\n"
                             "down(500)\n")
        load = self.record(python, script).load(toy)
        self.assertGreater(len(load.frames), 50)
        self.assertLessEqual(len(load.frames), 128)
        self.assertEqual(load["pynote"], "outer frames were left out")
        self.assertEqual(self.own_stack(load)[:2], [(4, "down"), (6, "down")])

    @on_each(INTERPRETERS)
    def test_any_bytes_in_a_file_name(self, python):
        toy = self.toy()
        script = self.script(SCRIPT.format(path=str(toy)), b"odd \xff\n=.py")
        load = self.record(python, script, env={"LC_ALL": "C.UTF-8"}).load(toy)
        self.assertEqual(load.frames[-1]["pyfile"], script)

    @on_each(INTERPRETERS)
    def test_odd_globals(self, python):
        toy = self.toy()
        script = self.script(
            "import ctypes\n"
            f"code = compile({f'ctypes.CDLL({str(toy)!r})'!r}, '<string>', 'exec')\n"
            "exec(code, {'ctypes': ctypes, '__name__': 7})\n")
        load = self.record(python, script).load(toy)
        frame = next(each for each in load.frames if each["pyfile"] == "<string>")
        self.assertEqual(frame["pymod"], "")

    @on_each(INTERPRETERS)
    def test_nothing_is_kept_of_what_was_looked_at(self, python):
        toy = self.toy()
        script = self.script(
            "import _ctypes, sys\ndef once():\n"
            f"    _ctypes.dlclose(_ctypes.dlopen({str(toy)!r}, 2))\n"
            "def count():\n    code = once.__code__\n"
            "    return [sys.getrefcount(each) for each in (once, code, code.co_filename,"
            " globals(), once.__name__)]\n"
            "once()\nbefore = count()\nfor _ in range(1000):\n    once()\nassert count() == before,"
            " (before, count())\n")
        self.assertEqual(len(self.record(python, script).loads), 1001)

    @on_each(INTERPRETERS)
    def test_collection_that_is_under_way_is_not_entered(self, python):
        # A finaliser that lets other threads run, while those load too.
        toys = [str(self.toy(f"libcuda_{i}.so")) for i in range(2)]
        script = self.script(
            "import _ctypes, gc, threading, time\ngc.set_threshold(1)\n"
            "class Knot:\n    def __init__(self):\n        self.me = self\n"
            "    def __del__(self):\n        time.sleep(0)\n"
            "def run(path):\n    for _ in range(300):\n        Knot()\n"
            "        _ctypes.dlclose(_ctypes.dlopen(path, 2))\n"
            f"threads = [threading.Thread(target=run, args=(path,)) for path in {toys!r}]\n"
            "for each in threads: each.start()\nfor each in threads: each.join()\n"
            "assert gc.isenabled()\n")
        self.assertEqual(len(self.record(python, script).loads), 600)

    @on_each(INTERPRETERS)
    def test_a_subinterpreter_does_no_harm(self, python):
        toy = self.toy()
        script = self.script(
            "try:\n    import _interpreters as them\nexcept ImportError:\n"
            "    import _xxsubinterpreters as them\n"
            "them.run_string(them.create(), "
            f"'import ctypes; ctypes.PyDLL(None); ctypes.CDLL({str(toy)!r})')\n")
        process, file = self.start(python, script)
        process.communicate(timeout=60)
        # Whether ctypes may be used in one is the version's business.
        self.assertIn(process.returncode, (0, 1))

    def embedding(self, body, library):
        """A program that opens what its first argument names and does `body` then; the environment in
        which `library` finds its modules."""
        need_program(self, "gcc")
        program = self.folder / "embedding"
        source = """
            #include <dlfcn.h>
            #include <pthread.h>
            #include <stdio.h>
            static void (*initialize)(int);
            static int (*run)(const char*);
            static void* work(void* code) { initialize(0); return (void*)(long)run(code); }
            int main(int argc, char** argv) {
              void* const python = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
              if (python == 0) { puts(dlerror()); return 1; }
              initialize = dlsym(python, "Py_InitializeEx");
              run = dlsym(python, "PyRun_SimpleString");
              BODY
            }""".replace("BODY", body)
        subprocess.run(["gcc", "-x", "c", "-", "-o", program, "-pthread"], input=source.encode(),
                       check=True)
        return program, {"PYTHONHOME": os.path.dirname(os.path.dirname(library))}

    @on_each(LIBRARIES)
    def test_an_embedded_interpreter_in_a_thread(self, library):
        toy = self.toy()
        body = "pthread_t thread; void* result = 0; pthread_create(&thread, 0, work, argv[2]);" \
               " pthread_join(thread, &result); return result != 0;"
        program, env = self.embedding(body, library)
        recording = self.record(program, library, f"import ctypes\nctypes.CDLL({str(toy)!r})",
                                env=env)
        self.assertEqual(self.own_stack(recording.load(toy)), [(2, "<module>")])

    @on_each(LIBRARIES)
    def test_an_interpreter_that_does_not_run(self, library):
        toy = self.toy()
        program, env = self.embedding("return dlopen(argv[2], RTLD_NOW) == 0;", library)
        load = self.record(program, library, toy, env=env).load(toy)
        self.assertEqual(load["pynote"], "Python is not running")

    @on_each(LIBRARIES)
    def test_libpython_and_cuda_in_one_batch(self, library):
        # Python's library is mapped and not yet relocated then.
        toy = self.toy()
        program, env = self.embedding("return 0;", library)
        top = self.compile("libtop.so", "int top;", "-x", "none", "-Wl,--no-as-needed", library, str(toy),
                           f"-Wl,-rpath,{self.folder}:{os.path.dirname(library)}")
        self.record(program, top, env=env).load(toy)


if __name__ == "__main__":
    recorded.main()
