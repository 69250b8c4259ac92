"""Exit codes and messages: what is wrong is named, and scripts can tell the cases apart."""
import os
import pathlib
import signal
import socket
import subprocess

import support
from support import Case, NOBODY, doctor, need_root


class UsageErrors(Case):
    def test_a_format_that_leaves_no_trace_is_refused(self):
        for arguments, expected in (
                (["snapshot", "--dir", self.folder / "x", "--format", "html"], "snapshot: this --format"),
                (["--format", "line", "-v"], "--verbose: line"),
                (["--format", "junit", "-v"], "--verbose: line")):
            ended = doctor(*arguments)
            self.assertEqual(ended.code, 2, arguments)
            self.assertIn(expected, ended.message)

    def test_every_slip_on_the_command_line_is_named(self):
        rows = [
            (["--bogus"], "--bogus"),
            (["bogus"], "bogus"),
            (["--pid", "x"], "--pid: 'x' is not a PID"),
            (["--pid", "0"], "--pid: '0' is not a PID"),
            (["--pid", "-1"], "--pid"),
            (["--pid", "4294967297"], "--pid: '4294967297' is not a PID"),
            (["--pid"], "--pid"),
            (["--pid", "1", "--pid", "2"], "--pid"),
            # CLI11 reads these as 8 and 16: another process.
            (["--pid", "010"], "--pid: '010' is not a PID: a whole number from 1 to 2147483647"),
            (["--pid", "0x10"], "--pid: '0x10' is not a PID"),
            (["--pid", " 1"], "--pid: ' 1' is not a PID"),
            (["--pid", "self"], "--pid: 'self' is not a PID"),
            (["--pid", "1", "--peer", "010"], "--peer: '010' is not a PID"),
            (["--port", "0"], "--port: '0' is not a port: a whole number from 1 to 65535"),
            (["--port", "65536"], "--port: '65536' is not a port"),
            (["--pid", "1", "--port", "2"], "--pid excludes --port"),
            (["--pid", "1", "--from", "x"], "excludes"),
            (["--pid", "1", "--load", "x"], "excludes"),
            (["--policy", "nonsense"], "unknown policy 'nonsense'"),
            (["--policy", ""], "unknown policy"),
            (["--fail-on", "fatal"], "'fatal' is none of info, warning, error, critical"),
            (["--color", "blue"], "'blue' is none of auto, always, never"),
            (["--timeout", "0"], "--timeout: '0' is not 0.1 to 86400 seconds"),
            (["--timeout", "nan"], "--timeout: 'nan' is not"),
            (["--timeout", "86401"], "--timeout: '86401' is not"),
            (["--timeout", "5s"], "--timeout: '5s' is not"),
            (["diff", *["x"] * 4097], "A B...: at most 4096 at once"),
            (["--log-level", "loud"], "--log-level: loud"),
            (["--bo\x1b[31mgus"], "--bo\\x1b[31mgus"),
            (["--allow", "RT0\x1b1"], "--allow: 'RT0\\x1b1' is no finding"),
            (["snapshot"], "--dir"),
            (["snapshot", "--dir", "x", "--from", "y"], "--from"),
            (["policies", "--pid", "1"], "policies: --pid has no meaning"),
            (["policies", "--redact"], "policies: --redact has no meaning"),
            (["--json-schema", "--from", "x"], "--json-schema: --from has no meaning"),
            (["snapshot", "--dir", "x", "-v"], "snapshot: --verbose has no meaning"),
            (["policies", "--devices", "0"], "policies: --devices has no meaning"),
            (["--from", "x", "--devices", "0"], "--devices: a replay looks at nothing but"),
            (["--from", "x", "--pairs", "none"], "--pairs: a replay"),
            (["--from", "x", "--python", "/usr/bin/python3"], "--python: a replay"),
            (["--from", "x", "--deep"], "--deep: a replay"),
            (["--from", "x", "--load", "y"], "excludes"),
            (["--explain-selection", "nonsense"], "unknown policy 'nonsense'"),
            (["explain", "RT04", "--explain-selection"], "--explain-selection: a part of"),
        ]
        for arguments, text in rows:
            with self.subTest(arguments=arguments):
                message = self.failure(2, *arguments)
                self.assertIn(text, message)
                self.assertTrue(message.startswith("cudart-doctor: "), message)

    def test_steps_are_no_option_of_the_json_report_which_has_them(self):
        ended = doctor("--explain-selection", "--json")
        self.assertEqual(ended.code, 2)
        self.assertIn("selections[].steps", ended.document["error"]["message"])

    def test_json_and_another_format_together_are_refused(self):
        for arguments in (["--json", "--format", "text"], ["--format=json", "--json"]):
            ended = doctor(*arguments)
            self.assertEqual(ended.code, 2)
            self.assertIn("excludes", ended.document["error"]["message"])
            self.assertIn("excludes", ended.message)

    def test_a_snapshot_folder_that_is_none_is_a_usage_error(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("snapshot.json: No such file", self.failure(2, "--from", empty))
        self.assertIn("nowhere: No such file", self.failure(2, "--from", self.folder / "nowhere"))
        a_file = self.folder / "file"
        a_file.write_text("x")
        self.assertIn("file: Not a directory", self.failure(2, "--from", a_file))
        victim = self.victim()
        good = self.folder / "good"
        self.assertEqual(doctor("snapshot", "--pid", victim.pid, "--dir", good).code, 0)
        text = (good / "snapshot.json").read_bytes()
        for name, bad in (("cut", text[:len(text) // 2]), ("nothing", b""), ("list", b"[]"),
                          ("nul", b"\0" * 100), ("deep", b"[" * 100000),
                          ("version", text.replace(b'"format"', b'"farmot"', 1)
                           .replace(b"1", b"999", 1))):
            with self.subTest(name):
                (good / "snapshot.json").write_bytes(bad)
                self.assertIn("snapshot.json", self.failure(2, "--from", good))
        (good / "snapshot.json").unlink()
        (good / "snapshot.json").symlink_to("/etc/passwd")
        self.assertIn("symbolic link", self.failure(2, "--from", good))

    def test_a_snapshot_does_not_overwrite(self):
        victim = self.victim()
        (self.folder / "used").mkdir()
        (self.folder / "used/x").write_text("kept")
        message = self.failure(2, "snapshot", "--pid", victim.pid, "--dir", self.folder / "used")
        self.assertIn("not an empty folder", message)
        self.assertEqual(os.listdir(self.folder / "used"), ["x"])


class FailOn(Case):
    def test_the_exit_code_follows_fail_on(self):
        # A deleted runtime is a warning by itself; nothing of a consumer is here.
        path = self.compile("libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        victim = self.victim(f"load({str(path)!r})")
        path.unlink()
        worst = self.report("--pid", victim.pid)["verdict"]["worst"]
        order = ["info", "warning", "error", "critical"]
        for level in order:
            ended = doctor("--pid", victim.pid, "--fail-on", level)
            expected = 1 if order.index(worst) >= order.index(level) else 0
            self.assertEqual(ended.code, expected, level)
            self.assertIn(f"EXIT {expected}", ended.text)


class Targets(Case):
    def test_no_such_process(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.assertIn(f"no process with PID {child.pid}", self.failure(3, "--pid", child.pid))

    def test_a_kernel_thread(self):
        if "(kthreadd)" not in pathlib.Path("/proc/2/stat").read_text():
            self.skipTest("PID 2 is no kernel thread here")
        self.assertIn("kernel thread", self.failure(3, "--pid", 2))

    def test_a_zombie(self):
        child = subprocess.Popen(["true"])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        message = self.failure(3, "--pid", child.pid)
        child.wait()
        self.assertIn("zombie", message)

    def test_a_thread_is_no_process(self):
        victim = self.victim("import threading",
                             "t = threading.Thread(target=threading.Event().wait, daemon=True)",
                             "t.start()")
        thread = max(map(int, os.listdir(f"/proc/{victim.pid}/task")))
        self.assertNotEqual(thread, victim.pid)
        self.assertIn(f"PID {thread} is a thread of process {victim.pid}",
                      self.failure(3, "--pid", thread))

    def test_a_stopped_process_is_inspected(self):
        victim = self.victim()
        os.kill(victim.pid, signal.SIGSTOP)
        self.assertEqual(self.report("--pid", victim.pid)["target"]["pid"], victim.pid)
        self.assertIn("\nState:\tT", pathlib.Path(f"/proc/{victim.pid}/status").read_text())


class Ports(Case):
    def listener(self, family, address):
        try:
            server = socket.create_server((address, 0), family=family)
        except OSError as error:
            self.skipTest(f"cannot listen on {address}: {error}")
        self.addCleanup(server.close)
        server.set_inheritable(True)
        return server, server.getsockname()[1]

    def test_the_process_that_listens(self):
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with self.subTest(address):
                victim = self.victim("import socket")
                # A free number, let go again; nobody else here asks for one.
                server, port = self.listener(family, address)
                server.close()
                victim.do(f"kept.append(socket.create_server(({address!r}, {port}), "
                          f"family=socket.{family.name}))")
                self.assertEqual(self.report("--port", port)["target"]["pid"], victim.pid)

    def test_a_port_where_nobody_listens(self):
        server, port = self.listener(socket.AF_INET, "127.0.0.1")
        server.close()
        self.assertIn(f"nothing listens on TCP port {port}", self.failure(3, "--port", port))

    def test_another_users_listener_is_said_to_be_out_of_reach(self):
        need_root(self)
        server, port = self.listener(socket.AF_INET, "127.0.0.1")
        ended = doctor("--port", port, program=as_nobody(self))
        self.assertEqual((ended.code, ended.out), (3, b""))
        self.assertIn("CAP_SYS_PTRACE", ended.message)


def as_nobody(test):
    """The program, where everybody can read it, run as somebody without rights."""
    support.need_program(test, "setpriv")
    copy = test.folder / "cudart-doctor"
    if not copy.exists():
        copy.write_bytes(pathlib.Path(support.DOCTOR).read_bytes())
        copy.chmod(0o755)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", copy]


class Users(Case):
    def test_another_users_process_is_refused_with_what_is_needed(self):
        need_root(self)
        victim = self.victim()
        message = self.failure(3, "--pid", victim.pid, program=as_nobody(self))
        self.assertIn("needs the same user, or CAP_SYS_PTRACE", message)
        self.assertIn("belongs to uid 0, you are uid 65534", message)
        self.assertIn(f"sudo cudart-doctor --pid {victim.pid}", message)
        self.assertEqual(message.count("\n"), 1)

    def test_root_sees_another_users_process(self):
        need_root(self)
        victim = self.victim(uid=NOBODY)
        self.assertEqual(self.report("--pid", victim.pid)["target"]["uid"], NOBODY)

    def test_ones_own_process_needs_no_rights(self):
        need_root(self)
        victim = self.victim(uid=NOBODY)
        report = self.report("--pid", victim.pid, program=as_nobody(self))
        capture = report["capture"]
        self.assertEqual(capture["objects"] - capture["not_elf"], capture["objects_read"])


class Informing(Case):
    def test_help_of_a_command_is_about_that_command(self):
        for command, usage in (("diff", "diff [OPTIONS] A B..."), ("policies", "policies [OPTIONS] [ID]"),
                               ("explain", "explain [OPTIONS] [ID|CODE|-]"), ("snapshot", "snapshot")):
            text = doctor(command, "--help").text
            self.assertIn("Usage: cudart-doctor " + usage, text)
            self.assertNotIn("always-zero", text)
            self.assertNotIn("Examples:", text)
        self.assertNotIn("Excludes:", doctor("--help").text)

    def test_help_version_and_tables_go_to_stdout(self):
        for arguments, text in ((["--help"], "Usage: cudart-doctor"),
                                (["--version"], "cudart-doctor "),
                                (["policies"], "vllm-2026-10"), (["--json-schema"], '"$schema"')):
            ended = doctor(*arguments)
            self.assertEqual((ended.code, ended.err), (0, b""))
            self.assertIn(text, ended.text)
        self.assertEqual(doctor("--json-schema").text,
                         (support.SOURCE / "docs/report.schema.json").read_text())

    def test_the_table_of_rules_is_narrow(self):
        wide = [line for line in doctor("policies").text.splitlines() if len(line) > 80]
        self.assertEqual(wide, [])


support.main()
