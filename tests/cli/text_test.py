"""The text report on a terminal: 80 columns, no control characters, whatever a path holds."""
import os
import re
import unicodedata

import support
from support import Case, by_path, doctor

LIBRARY = "int cudaFree(void *p) { return p != 0; } int cudaMalloc(void) { return 2; }"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
# What would move the cursor, change colours or turn the direction of writing.
STEERING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Hostile(Case):
    NAMES = [
        b"new\nline", b"\x1b[2J\x1b[31mred", "right\u202eleft".encode(), b"bell\x07tab\tcr\r",
        b"not\xffutf8\xc3", b"back\\slash", "wide\u6f22\u5b57".encode() * 8, b"blank and  two ",
        "\u200bzero\u2028line".encode(), b"x" * 200, b"%s%n{}", "\x9b31mC1".encode(),
    ]

    def assert_harmless(self, text, narrow=True):
        for line in ESCAPES.sub("", text).split("\n"):
            steering = [hex(ord(c)) for c in line if unicodedata.category(c) in STEERING]
            self.assertEqual(steering, [], line)
            if narrow:
                self.assertLessEqual(width(line), 80, line)
                self.assertEqual(line, line.rstrip())

    def load_from(self, folder):
        built = self.folder / "built.so"
        if not built.exists():
            self.compile("built.so", LIBRARY)
        os.mkdir(folder)
        path = folder + b"/libcudart.so.12"
        os.link(built, path)
        return path

    def test_a_hostile_folder(self):
        for name in self.NAMES:
            with self.subTest(name):
                path = self.load_from(os.fsencode(self.folder) + b"/" + name)
                victim = self.victim(f"load({path!r})")
                self.check(victim)

    def check(self, victim):
        for color in ("never", "always"):
            ended = doctor("--pid", victim.pid, "--color", color)
            self.assertIn(ended.code, (0, 1), ended.message)
            self.assert_harmless(ended.text)
        self.assert_harmless(doctor("--pid", victim.pid, "-v").text, narrow=False)
        out = doctor("--pid", victim.pid, "--json")
        mapped = [each for each in out.document["runtimes"] if each["mapped"]]
        self.assertEqual(len(mapped), 1)
        self.assert_harmless(out.text, narrow=False)
        victim.end()

    def test_a_folder_that_ends_in_the_deleted_mark(self):
        path = self.load_from(os.fsencode(self.folder) + b"/lib (deleted)")
        victim = self.victim(f"load({path!r})")
        runtime = by_path(self.report("--pid", victim.pid), path.decode())
        self.assertEqual((runtime["state"], runtime["marked_deleted"]), ("same", False))

    def test_a_file_that_is_really_named_deleted(self):
        path = self.compile("libcudart.so.12 (deleted)", LIBRARY)
        victim = self.victim(f"load({str(path)!r})")
        report = self.report("--pid", victim.pid)
        runtime = by_path(report, path)
        self.assertEqual(runtime["state"], "same")
        self.assertIn("MP07", support.findings(report))
        self.assert_harmless(doctor("--pid", victim.pid).text)

    def test_a_hostile_title_and_interpreter(self):
        victim = self.victim(
            "libc.prctl(15, b'\\x1b[31m\\n\\xff', 0, 0, 0)",
            env=support.clean_environment(LD_LIBRARY_PATH="/a\x1b]0;t\x07b\u202e",
                                          CUDA_HOME="\n\x1b[2J"))
        for form in ([], ["-v"]):
            self.assert_harmless(doctor("--pid", victim.pid, *form).text, narrow=not form)

    def test_every_format_is_made_of_harmless_bytes(self):
        """Folder, title, environment and command line are hostile at once; read by a browser, a monitor, a CI system, a terminal."""
        folder = os.fsencode(self.folder) + b"/\x1b[2J\x1b]0;owned\x07 <script>alert(1)<b>'\"&|\n::error::x\r%0A\x9b31m\xff" + \
            "\u202e".encode()
        path = self.load_from(folder)
        victim = self.victim(f"load({path!r})", "libc.prctl(15, b'\\x1b[31m|\\n\\xff<b>', 0, 0, 0)",
                             env=support.clean_environment(LD_LIBRARY_PATH="/a\x1b]0;t\x07b\u202e", CUDA_HOME="\n::warning::\x1b[2J"))
        commands = [["--pid", victim.pid, "--probe", "off"], ["tree", "--pid", victim.pid], ["--all", "--timeout", 20]]
        formats = {0: ["text", "json", "line", "markdown", "html", "junit", "prometheus"], 1: (few := ["text", "json", "line", "prometheus"]), 2: few}
        for number, command in enumerate(commands):
            for form in formats[number]:
                with self.subTest(command[0], form=form):
                    ended = doctor(*command, "--format", form)
                    self.assertIn(ended.code, (0, 1, 3), ended.message)
                    self.assert_harmless(ended.text, narrow=False)
                    self.assert_harmless(ended.message, narrow=False)
                    # Markdown has such a text as code; unit_render_formats reads it as its readers do.
                    if form in ("html", "junit"):
                        self.assertNotIn("<script>alert", ended.text)
                    # Nothing begins a line of its own that a runner would obey.
                    self.assertNotRegex(ended.text, "(?m)^::")
        ended = doctor("--pid", victim.pid, "--probe", "off", "--github")
        self.assert_harmless(ended.message, narrow=False)
        self.assertNotRegex(ended.message, "(?m)^::(error|warning)::")

    @support.native
    def test_messages_are_escaped_too(self):
        ended = doctor("--load", "/no\x1b[31m\nwhere/lib\u202e.so")
        self.assertEqual(ended.code, 2)
        self.assert_harmless(ended.message, narrow=False)
        ended = doctor("--from", "/no\x1b[31m\nwhere")
        self.assertEqual(len(ended.message.splitlines()), 1)
        self.assert_harmless(ended.message, narrow=False)
        self.assert_harmless(doctor("--from", self.folder, "-o", "/no\x1b[31m/x").message,
                             narrow=False)


support.main()
