"""`run --ready-when`: judged when ready, then kept or stopped."""
import os
import signal
import socket
import subprocess

import support
from support import DOCTOR, clean_environment
from run_support import LOADS, RunCase, SLEEPS, WAITS, python, run


class Started:
    """A run that goes on while the test looks."""

    def __init__(self, test, *options, command):
        self.report = test.folder / "report"
        self.process = subprocess.Popen(
            [DOCTOR, "run", "-o", self.report, *options, "--", *map(str, command)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=clean_environment())
        test.addCleanup(self.end)
        self.test = test

    def reported(self):
        self.test.wait_until(self.report.exists)
        return self.report.read_text()

    def finish(self):
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err

    def end(self):
        self.process.kill()
        self.process.communicate()


def tracer_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("TracerPid"))


class Ready(RunCase):
    def judged_while_it_runs(self, condition, code=WAITS, *arguments):
        started = Started(self, "--ready-when", condition,
                          command=python(code, *(arguments or self.bad())))
        text = started.reported()
        self.assertIsNone(started.process.poll())
        self.assertIn("RT05", text)
        code, out, err = started.finish()
        self.assertEqual(code, 0, err)
        self.assertEqual(err, b"")
        return out

    def test_mapped(self):
        self.judged_while_it_runs("mapped:second/libcudart")

    def test_mapped_by_a_library_of_no_family(self):
        plain = self.compile("libplain.so", "int nothing;")
        self.judged_while_it_runs("mapped:libplain", WAITS, *self.bad(), plain)

    def test_after(self):
        self.judged_while_it_runs("after:1")

    def test_stable(self):
        self.judged_while_it_runs("stable:0.5")

    def test_output(self):
        out = self.judged_while_it_runs("output:^wait")
        self.assertEqual(out, b"waiting\n")

    def test_output_on_stderr(self):
        code = WAITS.replace('print("waiting", flush=True)',
                             'print("waiting", file=sys.stderr, flush=True)')
        started = Started(self, "--ready-when", "output:^waiting$", command=python(code, *self.bad()))
        self.assertIn("RT05", started.reported())
        self.assertEqual(started.finish(), (0, b"", b"waiting\n"))

    def test_port(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        code = ("import socket, sys\nport = int(sys.argv.pop(1))\n" + WAITS).replace(
            'print("waiting"',
            'server = socket.create_server(("127.0.0.1", port))\nprint("waiting"')
        self.judged_while_it_runs(f"port:{port}", code, port, *self.bad())

    def test_a_port_that_another_process_has_is_not_the_commands(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            ended, document = self.document("--ready-when", f"port:{port}",
                                            command=python(LOADS, 0, *self.good()))
        self.assertFalse(document["run"]["ready"])

    def test_a_condition_that_is_never_met_leaves_the_end(self):
        ended, document = self.document("--ready-when", "mapped:nothing-of-that-name",
                                        command=python(LOADS, 5, *self.bad()))
        self.assertEqual(ended.code, 5)
        self.assertFalse(document["run"]["ready"])
        self.assertIn("RT05", [each["id"] for each in document["findings"]])

    def test_what_is_written_right_before_the_end_is_heard(self):
        for code in ("echo waiting", "printf waiting"):
            for _ in range(10):
                ended, document = self.document("--ready-when", "output:waiting",
                                                command=["sh", "-c", code])
                self.assertTrue(document["run"]["ready"], ended.message)

    def test_what_was_asked_for_and_not_seen_is_undecided(self):
        for options, code in ((["--then", "stop"], 3), (["--judge-exit"], 3), ([], 0)):
            ended, document = self.document("--ready-when", "port:1", *options, command=["true"])
            self.assertEqual(ended.code, code, options)
            self.assertEqual(document["verdict"]["undecided"], "never ready (port:1)")
        ended = run("--ready-when", "port:1", "--then", "stop", command=["sh", "-c", "exit 7"])
        self.assertEqual(ended.code, 7)


class Then(RunCase):
    def test_stop_ends_the_command_and_tells_the_verdict(self):
        for libraries, expected in ((self.good(), 0), (self.bad(), 1)):
            started = Started(self, "--ready-when", "output:waiting", "--then", "stop",
                              command=python(SLEEPS, *libraries))
            code, out, err = started.finish()
            self.assertEqual(code, expected, err)
            started.report.unlink()

    def test_stop_ends_what_ignores_sigterm_in_children_too(self):
        shell = 'sleep 1000 & echo $!; exec "$@"'
        started = Started(self, "--ready-when", "output:waiting", "--then", "stop",
                          command=["sh", "-c", shell, "sh", *python(SLEEPS, *self.good())])
        code, out, err = started.finish()
        self.assertEqual(code, 0, err)
        self.assertFalse(os.path.exists(f"/proc/{int(out.split()[0])}"))

    def test_a_command_that_ended_by_itself_was_not_stopped(self):
        ended = run("--ready-when", "after:3600", "--then", "stop",
                    command=python(LOADS, 9, *self.good()))
        self.assertEqual(ended.code, 9)

    def test_kept_it_goes_on_and_loads_more(self):
        more = self.runtime("13.0", folder="more")
        code = WAITS + "\nctypes.CDLL(%r)\nprint('more')\nsys.exit(4)" % str(more)
        started = Started(self, "--ready-when", "output:waiting", command=python(code, *self.good()))
        started.reported()
        code, out, err = started.finish()
        self.assertEqual((code, out, err), (4, b"waiting\nmore\n", b""))

    def test_kept_it_is_traced_no_longer(self):
        started = Started(self, "--ready-when", "output:[0-9]",
                          command=python(SLEEPS.replace('"waiting"', "os.getpid()").replace(
                              "import ctypes", "import os, ctypes"), *self.good()))
        pid = int(started.process.stdout.readline())
        started.reported()
        self.wait_until(lambda: tracer_of(pid) == 0)
        self.assertIsNone(started.process.poll())

    def test_signals_still_reach_it(self):
        started = Started(self, "--ready-when", "output:waiting",
                          command=python(SLEEPS, *self.good()))
        started.reported()
        started.process.send_signal(signal.SIGTERM)
        self.assertEqual(started.finish()[0], 143)


if __name__ == "__main__":
    support.main()
