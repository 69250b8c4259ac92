"""Processes whose recorder loses its way to the doctor after their start, and that load then."""
import shutil
import tempfile

import support
from watching import RunCase
from support import NOBODY, findings, need_root

# The calls of dlopen that libcudart's own needs would make are over by then.
NEEDS = "[ctypes.CDLL(each) for each in ('libdl.so.2', 'libpthread.so.0', 'librt.so.1')]"
STATUS = "status = open('/proc/self/status')"
SEEN = "wait_for(lambda: status.seek(0) == 0 and 'TracerPid:\\t0\\n' not in status.read())"
DROP = f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})"
# socket() fails with EPERM from now on.
FILTER = """
import platform, struct
number = {'x86_64': 41, 'aarch64': 198}[platform.machine()]
code = b''.join(struct.pack('HBBI', *each) for each in (
    (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
buffer = ctypes.create_string_buffer(code)
program = struct.pack('HxxxxxxP', 4, ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0
"""
UNLINK = "os.unlink(os.path.join(os.path.dirname(os.environ['LD_AUDIT']), 'socket'))"


class CutOff(RunCase):
    def setUp(self):
        super().setUp()
        self.paths = [self.runtime("12.8", folder="a"), self.runtime("13.0", folder="b")]
        self.loads = [f"load({str(path)!r})" for path in self.paths]

    def closed(self):
        """An environment whose place for the recorder only the user who starts may enter."""
        place = tempfile.mkdtemp(prefix="closed-", dir="/tmp")  # Without "cuda" in its path.
        self.addCleanup(shutil.rmtree, place)
        return self.environment(TMPDIR=place)

    def assert_found(self, ended, code=5):
        self.assertEqual(ended.code, code, ended.err)
        self.assertEqual(findings(ended.report)["RT06"], "warning")
        self.assertEqual({each["path"] for each in ended.report["runtimes"] if each["mapped"]},
                         {str(path) for path in self.paths})

    def assert_said(self, ended):
        self.assertFalse(ended.judged["recorded"])
        self.assertIn("told nothing of what it loaded", ended.judged["unrecorded"])

    def test_rights_are_dropped(self):
        need_root(self)
        ended = self.watch(*self.python(DROP, *self.loads, "be_seen()", "sys.exit(5)"),
                           env=self.closed())
        self.assert_found(ended)
        self.assert_said(ended)

    def test_rights_are_dropped_long_before_a_short_end(self):
        need_root(self)
        ended = self.watch(*self.python(DROP, "be_seen()", *self.loads, "sys.exit(5)"),
                           env=self.closed())
        self.assert_found(ended)
        self.assertEqual(ended.judged["judged"], "exit")

    def test_the_gate_stops_it(self):
        need_root(self)
        ended = self.watch(*self.python(DROP, *self.loads, "time.sleep(50)"), env=self.closed(),
                           options=("--gate", "--fail-on", "warning"))
        self.assert_found(ended, code=1)

    def test_it_is_judged_when_ready(self):
        need_root(self)
        ended = self.watch(*self.python(DROP, *self.loads, "tell('it')", "time.sleep(50)"),
                           env=self.closed(),
                           options=("--ready-when", "after:2", "--then", "stop", "--fail-on",
                                    "warning"))
        self.assert_found(ended, code=1)

    def test_a_forked_worker_that_drops_rights(self):
        need_root(self)
        work = "; ".join([DROP, *self.loads, "be_seen()", "os._exit(5)"])
        ended = self.watch(*self.python(
            "child = os.fork()", f"if child == 0: {work}",
            "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"), env=self.closed())
        self.assert_found(ended)

    def test_another_root(self):
        need_root(self)
        inside = [f"load({str(path.relative_to(self.folder).parent / path.name)!r})"
                  for path in self.paths]
        ended = self.watch(*self.python(
            NEEDS, STATUS, f"os.chroot({str(self.folder)!r}); os.chdir('/')",
            *(each.replace("('", "('/") for each in inside), SEEN, "os._exit(5)"))
        self.assert_found(ended)

    def test_a_filter_of_system_calls(self):
        ended = self.watch(*self.python(FILTER, *self.loads, "be_seen()", "sys.exit(5)"))
        self.assert_found(ended)
        self.assert_said(ended)

    def test_the_socket_is_removed(self):
        ended = self.watch(*self.python(UNLINK, *self.loads, "be_seen()", "sys.exit(5)"))
        self.assert_found(ended)

    def test_who_reports_is_not_suspected(self):
        ended = self.watch(*self.python("time.sleep(0.6)", *self.loads, "time.sleep(0.6)",
                                        "sys.exit(5)"))
        self.assert_found(ended)
        self.assertTrue(ended.judged["recorded"])
        self.assertEqual(ended.run["limits"], [])

    def test_who_only_drops_rights_is_not_accused(self):
        need_root(self)
        ended = self.watch(*self.python(DROP, "be_seen()", "sys.exit(5)"), env=self.closed())
        self.assertEqual(ended.code, 5, ended.err)
        self.assertTrue(ended.process(ended.run["root_pid"])["recorded"])


support.main()
