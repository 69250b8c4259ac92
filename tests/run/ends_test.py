"""However a process ends, it is looked at in that moment, and its end is its own."""
import signal

import support
from watching import RunCase
from support import findings

# Python's way of ending, what the command's exit code is then.
ENDS = {
    "the end of the program": ("pass", 0),
    "sys.exit": ("sys.exit(9)", 9),
    "an exception": ("raise ValueError('it')", 1),
    "_exit": ("os._exit(8)", 8),
    "_exit by another thread":
        ("t = threading.Thread(target=lambda: os._exit(7)); t.start(); t.join()", 7),
    "abort": ("os.abort()", 128 + signal.SIGABRT),
    "an uncaught SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(20)",
                            128 + signal.SIGTERM),
    "an uncaught SIGSEGV": ("os.kill(os.getpid(), signal.SIGSEGV); time.sleep(20)",
                            128 + signal.SIGSEGV),
}
THREADED = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_t first;
static void *work(void *path) {
  pthread_join(first, NULL);
  if (dlopen(path, RTLD_NOW) == NULL) exit(3);
  exit(11);
}
int main(int argc, char **argv) {
  pthread_t thread;
  if (argc < 3 || dlopen(argv[1], RTLD_NOW) == NULL) return 2;
  first = pthread_self();
  pthread_create(&thread, NULL, work, argv[2]);
  pthread_exit(NULL);
}
"""


class Ends(RunCase):
    def setUp(self):
        super().setUp()
        self.paths = [self.runtime("12.8", folder="a"), self.runtime("12.4", folder="b")]
        self.loads = [f"load({str(path)!r})" for path in self.paths]

    def assert_both_runtimes_seen(self, ended, moment="exit"):
        self.assertEqual(ended.judged["judged"], moment)
        self.assertEqual(findings(ended.report)["RT05"], "error")
        self.assertEqual({each["path"] for each in ended.report["runtimes"] if each["mapped"]},
                         set(map(str, self.paths)))

    def test_it_is_judged_in_the_moment_before_its_end(self):
        for name, (end, code) in ENDS.items():
            with self.subTest(name):
                # A late load: only a look at the end can see both.
                ended = self.watch(*self.python(*self.loads, end))
                bare = self.bare(*self.python(*self.loads, end))
                self.assertEqual(ended.code, code, ended.err)
                self.assertEqual(bare.code, code if code < 128 else 128 - code)
                self.assertEqual((ended.out, ended.err), (bare.out, bare.err))
                self.assert_both_runtimes_seen(ended)
                root = ended.process(ended.run["root_pid"])
                self.assertEqual((root["end"], root["exit_code"], root["signal"]),
                                 ("exited", code, None) if code < 128 else
                                 ("signalled", None, code - 128))

    def test_sigkill_leaves_a_report_or_its_reason(self):
        ended = self.watch(*self.python(*self.loads, "tell('it')",
                                        "os.kill(os.getpid(), signal.SIGKILL)"))
        self.assertEqual(ended.code, 137, ended.err)
        process = ended.process(self.told("it")["pid"])
        self.assertEqual((process["end"], process["signal"]), ("signalled", 9))
        self.assertEqual({each["path"] for each in ended.events("libcudart.so.12")},
                         set(map(str, self.paths)))
        if process["judged"] == "none":
            self.assertTrue(process["not_judged"])
        else:
            self.assert_both_runtimes_seen(ended, process["judged"])

    def test_the_first_thread_may_end_before_the_others(self):
        program = self.executable("threaded", THREADED, "-pthread", "-ldl")
        ended = self.watch(program, *self.paths)
        self.assertEqual(ended.code, 11, ended.err)
        self.assertEqual({each["path"] for each in ended.events("libcudart.so.12")},
                         set(map(str, self.paths)))
        root = ended.process(ended.run["root_pid"])
        self.assertEqual((root["end"], root["exit_code"]), ("exited", 11))
        # What the second thread loaded is seen, or the report says that it could not be.
        if root["judged"] == "none":
            self.assertTrue(root["not_judged"])
        else:
            self.assertTrue(ended.report["runtimes"])

    def test_without_ptrace_it_is_judged_at_its_last_load(self):
        ended = self.watch(*self.python(*self.loads, "print(field('TracerPid'))"),
                           options=("--no-ptrace",))
        self.assertEqual((ended.code, ended.out), (0, b"0\n"), ended.err)
        self.assert_both_runtimes_seen(ended, "load")

    def test_another_program_in_the_same_process(self):
        """exec ends what was mapped; what it was is judged before, and the new program too."""
        ended = self.watch(*self.python(*self.loads,
                                        "os.execv(sys.executable, [sys.executable, '-I', '-c', "
                                        "'import ctypes, sys; ctypes.CDLL(sys.argv[1]); "
                                        "sys.exit(4)', %r])" % str(self.paths[0])))
        self.assertEqual(ended.code, 4, ended.err)
        events = [(each["pid"], each["path"]) for each in ended.events("libcudart.so.12")]
        pid = ended.run["root_pid"]
        self.assertEqual(events, [(pid, str(path)) for path in (*self.paths, self.paths[0])])


support.main()
