"""Markdown and HTML from the program itself, and reports without names (--redact)."""
import re
import socket
import subprocess

import support
from support import Case, clean_environment, doctor

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
FORMATS = ("text", "json", "markdown", "html")


class Pages(Case):
    def setUp(self):
        super().setUp()
        home = self.folder / "home/alice/lib"
        home.mkdir(parents=True)
        library = self.compile("home/alice/lib/libcudart.so.12", "int cudaFree(void *p) { return p != 0; }")
        self.target = self.victim(f"load({str(library)!r})", env=clean_environment(
            LD_LIBRARY_PATH=f"{home}:/data/alice:/nfs/carol", LOGNAME="carol",
            CUDA_VISIBLE_DEVICES="GPU-cc1d84a2-1111-2222-3333-444455556666"))

    def snapshot(self, name, *arguments):
        folder = self.folder / name
        ended = doctor("snapshot", "--pid", self.target.pid, "--dir", folder, *arguments)
        self.assertEqual((ended.code, ended.out), (0, b""))
        self.assertIn(b"kept pid", ended.err)
        return folder

    def check_nameless(self, text):
        for name in ("alice", "carol", "cc1d84a2"):
            self.assertNotIn(name, text)
        host = socket.gethostname()
        self.assertNotRegex(text, r"\bnode `?" + re.escape(host) + r"\b")

    def test_every_format_gives_the_same_exit_code(self):
        codes = {form: doctor("--pid", self.target.pid, "--format", form).code for form in FORMATS}
        self.assertEqual(len(set(codes.values())), 1, codes)

    def test_a_format_is_what_it_is_called(self):
        page = doctor("--pid", self.target.pid, "--format", "html").text
        self.assertTrue(page.startswith("<!DOCTYPE html>\n") and page.endswith("</html>\n"))
        block = doctor("--pid", self.target.pid, "--format", "markdown").text
        self.assertTrue(block.startswith("## "))
        self.assertIn("### Runtimes in address order", block)

    def test_a_failure_leaves_standard_output_empty(self):
        for form in ("markdown", "html"):
            ended = doctor("--pid", 2 ** 22 + 1, "--format", form)
            self.assertEqual((ended.code, ended.out), (3, b""))
            self.assertNotEqual(ended.err, b"")

    def test_names_are_in_no_format(self):
        for form in FORMATS:
            plain = doctor("--pid", self.target.pid, "--format", form, "-v").text
            self.assertIn("alice", plain, form)
            redacted = doctor("--pid", self.target.pid, "--format", form, "-v", "--redact").text
            self.check_nameless(redacted)
            self.assertIn("/home/user-1/", redacted.replace("<wbr>", ""), form)

    def test_the_verdict_is_that_of_the_named_report(self):
        plain = self.report("--pid", self.target.pid)
        redacted = self.report("--pid", self.target.pid, "--redact")
        self.assertEqual(plain["verdict"], redacted["verdict"])
        self.assertEqual([each["id"] for each in plain["findings"]],
                         [each["id"] for each in redacted["findings"]])
        self.assertEqual([(each["ref"], each["kind"]) for each in plain["runtimes"]],
                         [(each["ref"], each["kind"]) for each in redacted["runtimes"]])
        self.assertEqual(redacted["host"]["name"], "host-1")

    def test_a_redacted_snapshot_holds_no_name_and_replays_to_the_redacted_report(self):
        folder = self.snapshot("redacted", "--redact")
        for each in folder.iterdir():
            text = each.read_text()
            self.check_nameless(text)
        for form in FORMATS:
            replayed = doctor("--from", folder, "--format", form)
            live = doctor("--pid", self.target.pid, "--format", form, "--redact")
            replace = lambda ended: TIME.sub("TIME", ended.text).replace('"bundle"', '"live"')
            self.assertEqual(replace(replayed), replace(live), form)
            self.assertEqual(replayed.code, live.code)
            # Redacting what is redacted changes nothing.
            again = doctor("--from", folder, "--format", form, "--redact")
            self.assertEqual(again.out, replayed.out)

    def test_a_named_snapshot_can_be_told_without_names(self):
        folder = self.snapshot("plain")
        one = doctor("--from", folder, "--json", "--redact")
        self.assertEqual(one.out, doctor("--from", folder, "--json", "--redact").out)
        for name in ("alice", "cc1d84a2"):
            self.assertNotIn(name, one.text)

    def test_a_message_and_a_quoted_log_are_told_without_names(self):
        ended = doctor("--from", "/home/alice/none", "--json", "--redact")
        self.assertEqual(ended.code, 2)
        self.assertNotIn("alice", ended.text + ended.message)
        self.assertIn("/home/user-1/none", ended.document["error"]["message"])
        ended = doctor("--from", self.snapshot("said"), "--redact", "-o", "/home/alice/none/x")
        self.assertEqual(ended.code, 2)
        self.assertIn("/home/user-1/none/x", ended.message)
        ended = doctor("--json", "--from", "/data/zoe/none", "--redact", env={"USER": "zoe"})
        self.assertNotIn("zoe", ended.text + ended.message)
        log = b"AttributeError: /home/zoe/libcudart_stub.so: undefined symbol: cudaDeviceReset\n"
        for arguments in ([], ["--pid", self.target.pid]):
            done = subprocess.run([support.DOCTOR, "explain", "-", "--redact", *map(str, arguments)],
                                  input=log, capture_output=True, timeout=30,
                                  env=clean_environment())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(b"zoe", done.stdout)
            self.assertIn(b"/home/user-", done.stdout)


support.main()
