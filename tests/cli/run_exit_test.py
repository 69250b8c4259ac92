"""`run`: the exit code is the command's, unless the gate or --judge-exit say otherwise."""
import os
import signal
import subprocess

import support
from support import doctor, findings
from run_support import LOADS, RunCase, python, run



class Codes(RunCase):
    def test_the_command_keeps_its_exit_code(self):
        for code in (0, 1, 2, 3, 7, 126, 127, 255):
            self.assertEqual(run(command=python(f"raise SystemExit({code})")).code, code)

    def test_a_signal_is_told_as_a_shell_does(self):
        for name in ("SIGTERM", "SIGKILL", "SIGSEGV", "SIGINT"):
            number = int(getattr(signal, name))
            code = f"import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), {number})"
            self.assertEqual(run(command=python(code)).code, 128 + number, name)

    def test_the_code_is_kept_with_a_finding(self):
        for code in (0, 7):
            ended = run(command=python(LOADS, code, *self.bad()))
            self.assertEqual(ended.code, code, ended.message)
            self.assertIn("RT05", ended.message)
            self.assertEqual(ended.out, b"loaded\n")

    def test_judge_exit_tells_of_a_finding(self):
        for code in (0, 7):
            self.assertEqual(run("--judge-exit", command=python(LOADS, code, *self.bad())).code, 1)
            self.assertEqual(run("--judge-exit", command=python(LOADS, code, *self.good())).code,
                             code)

    def test_judge_exit_counts_from_fail_on(self):
        self.assertEqual(run("--judge-exit", "--fail-on", "critical",
                             command=python(LOADS, 0, *self.bad())).code, 0)
        self.assertEqual(run("--judge-exit", "--allow", "RT05",
                             command=python(LOADS, 0, *self.bad())).code, 0)

    def test_a_command_that_is_not_there_is_127(self):
        for name in ("/nonexistent/program", "no-such-program-anywhere"):
            ended = run(command=[name])
            self.assertEqual(ended.code, 127)
            self.assertIn(name, ended.message)
            self.assertEqual(ended.out, b"")

    def test_a_command_that_cannot_be_executed_is_126(self):
        plain = self.folder / "plain"
        plain.write_text("no program")
        for path in (plain, self.folder):
            ended = run(command=[path])
            self.assertEqual(ended.code, 126, ended.message)
            self.assertIn(path.name, ended.message)

    def test_what_cannot_be_written_is_told_before_the_start(self):
        for option, path in (("-o", "/nonexistent/report"), ("-o", self.folder),
                             ("--record", "/nonexistent/folder/record"),
                             ("--record", "/proc/record")):
            ended = run(option, path, command=["echo", "started"])
            self.assertEqual((ended.code, ended.out), (2, b""), path)
            self.assertIn(option + ": ", ended.message)

    def test_no_folder_is_left_of_a_command_that_did_not_start(self):
        self.assertEqual(run("--record", self.folder / "kept", command=["/nonexistent"]).code, 127)
        self.assertFalse((self.folder / "kept").exists())

    def test_a_program_without_its_environment_is_seen_to_its_end(self):
        for libraries, code in ((self.bad(), 1), (self.good(), 0)):
            command = ["env", "-i", *python(LOADS, 0, *libraries)]
            ended = run("--judge-exit", command=command)
            self.assertEqual(ended.code, code, ended.message)

    def test_what_nobody_watched_is_undecided(self):
        support.need_program(self, "gcc")
        static = self.folder / "static"
        subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", static],
                       input=b"int main(void) { return 0; }", check=True)
        self.assertEqual(run("--judge-exit", command=[static]).code, 0)
        ended = run("--judge-exit", "--no-ptrace", command=[static])
        self.assertEqual(ended.code, 3, ended.message)
        self.assertIn("no process of this command was recorded or traced", ended.message)

    def test_a_failed_start_is_a_document_where_one_was_asked_for(self):
        ended, document = self.document(command=["/nonexistent/program"])
        self.assertEqual(ended.code, 127)
        self.assertIn("/nonexistent/program", document["error"]["message"])

    def test_without_libraries_of_cuda_the_report_is_short(self):
        ended = run(command=["true"])
        self.assertEqual((ended.code, ended.out), (0, b""))
        self.assertLessEqual(len(ended.message.splitlines()), 4, ended.message)
        self.assertEqual(run("--judge-exit", command=["true"]).code, 0)
        self.assertEqual(run("--judge-exit", command=["false"]).code, 1)
        ended, document = self.document(command=["true"])
        self.assertEqual(document["findings"], [])


class Gate(RunCase):
    CODE = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[2])
ctypes.CDLL(sys.argv[3])
open(sys.argv[1], "w").close()
"""

    def gated(self, *options, second):
        marker = self.folder / "marker"
        first = self.runtime("12.8", folder="first")
        ended = run(*options, command=python(self.CODE, marker, first, second))
        reached = marker.exists()
        marker.unlink(missing_ok=True)
        return ended, reached

    def test_the_gate_ends_the_command_before_its_next_step(self):
        for more in ([], ["--no-ptrace"]):
            ended, reached = self.gated("--gate", *more,
                                        second=self.runtime("12.4", folder="second"))
            self.assertEqual(ended.code, 1, ended.message)
            self.assertFalse(reached)
            self.assertIn("RT05", ended.message)

    def test_a_gate_that_does_not_fire_changes_nothing(self):
        library = self.compile("libplain.so", "int nothing;")
        for options in (["--gate"], ["--gate", "--no-ptrace"]):
            ended, reached = self.gated(*options, second=library)
            self.assertEqual(ended.code, 0, ended.message)
            self.assertTrue(reached)

    def test_below_fail_on_it_does_not_fire(self):
        ended, reached = self.gated("--gate", "--fail-on", "critical",
                                    second=self.runtime("12.4", folder="second"))
        self.assertEqual((ended.code, reached), (0, True), ended.message)

    def test_it_ends_a_command_that_ignores_sigterm(self):
        code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + self.CODE
        marker = self.folder / "marker"
        ended = run("--gate", command=python(code, marker, *self.bad()))
        self.assertEqual(ended.code, 1, ended.message)
        self.assertFalse(marker.exists())

    def test_it_ends_the_whole_command(self):
        shell = f'sleep 1000 & echo $!; exec "$@"'
        marker = self.folder / "marker"
        ended = run("--gate", command=["sh", "-c", shell, "sh",
                                       *python(self.CODE, marker, *self.bad())])
        self.assertEqual(ended.code, 1, ended.message)
        self.assertFalse(os.path.exists(f"/proc/{int(ended.out)}"))

    def test_the_report_says_that_it_fired(self):
        marker = self.folder / "marker"
        ended, document = self.document("--gate",
                                        command=python(self.CODE, marker, *self.bad()))
        self.assertEqual(ended.code, 1)
        self.assertTrue(document["run"]["gated"])
        self.assertEqual(findings(document)["RT05"], "error")


class Usage(RunCase):
    def test_nothing_is_started_where_the_command_line_is_wrong(self):
        marker = self.folder / "marker"
        full = self.folder / "full"
        full.mkdir()
        (full / "file").touch()
        for options, expected in (
                (["--pid", "1"], "--pid"),
                (["--then", "stop"], "--then"),
                (["--ready-when", "port:0"], "TCP port"),
                (["--record", full], "not an empty folder"),
                (["--allow-file", "/nonexistent"], "/nonexistent"),
                (["--profile", "/nonexistent"], "/nonexistent")):
            ended = run(*options, command=["touch", marker])
            self.assertEqual(ended.code, 2, options)
            self.assertIn(expected, ended.message)
            self.assertFalse(marker.exists())

    def test_the_command_is_asked_for(self):
        self.assertIn("the command is missing", doctor("run").message)
        self.assertIn("put -- before the command", doctor("run", "true").message)


if __name__ == "__main__":
    support.main()
