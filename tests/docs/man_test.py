"""The manual page: sound for both formatters, 80 columns, and exactly the options that the program has.

man_test.py PAGE PROGRAM SOURCE_FOLDER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

PAGE, PROGRAM, SOURCE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
TOOLS = ("groff", "mandoc", "man", "lexgrog")
OPTION = r"(?<![\w-])--?[a-z][a-z-]*"


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8", **environment})
    return done.returncode, done.stdout, done.stderr


def shown():
    _, text, _ = run("man", "-l", PAGE, MANWIDTH="80", MAN_KEEP_FORMATTING="", PAGER="cat", MANPAGER="cat")
    return text


def options_of_help(*command):
    """By the lines that begin with one, of the part that the parser writes."""
    _, text, _ = run(PROGRAM, *command, "--help")
    own = text.partition("Options:")[2].partition("\n\n")[0]
    return {name for line in own.splitlines() if line.startswith("  -")
            for name in re.findall(OPTION, re.split(r"\s{2,}", line.strip())[0])}


def options_of(section):
    """By the headings of paragraphs: seven columns in, after an empty line."""
    return {name for heading in re.findall(r"(?:^|\n)\n? {7}(-\S[^\n]*)", section)
            for name in re.findall(OPTION, re.split(r"\s{2,}|(?<=\S) (?=[A-Z][a-z])", heading)[0])}


class Page(unittest.TestCase):
    def test_groff_has_nothing_to_say(self):
        self.assertEqual(run("groff", "-ww", "-man", "-Tutf8", "-z", PAGE), (0, "", ""))

    def test_mandoc_has_nothing_to_say(self):
        self.assertEqual(run("mandoc", "-T", "lint", "-W", "warning", PAGE), (0, "", ""))

    def test_whatis_finds_its_line(self):
        status, text, _ = run("lexgrog", PAGE)
        self.assertEqual(status, 0)
        self.assertRegex(text, r'"cudart-doctor - which CUDA runtime .*"')

    def test_it_fits_in_80_columns(self):
        lines = shown().splitlines()
        self.assertGreater(len(lines), 100)
        self.assertEqual([line for line in lines if len(line) > 80], [])

    def test_it_has_the_options_of_every_help_and_no_others(self):
        text = shown()
        program = text.partition("\nOPTIONS\n")[2].partition("\nCOMMANDS\n")[0]
        self.assertEqual(options_of(program), options_of_help())
        commands = text.partition("\nCOMMANDS\n")[2].partition("\nEXIT STATUS\n")[0]
        sections = re.split(r"(?:^|\n)   cudart-doctor ([a-z]+)\n", commands)[1:]
        _, main, _ = run(PROGRAM, "--help")
        listed = re.findall(r"^  ([a-z][a-z-]*) +\S", main.partition("Subcommands:")[2].partition("\n\n")[0], re.MULTILINE)
        self.assertEqual(sections[::2], listed)
        for name, section in zip(sections[::2], sections[1::2]):
            with self.subTest(name):
                self.assertEqual(options_of(section.partition("Of the options")[0]), options_of_help(name))

    def test_it_names_the_variables_that_the_program_reads(self):
        section = shown().partition("\nENVIRONMENT\n")[2].partition("\nFILES\n")[0]
        read = {name for layer in ("app", "sys", "collect", "probe") for file in (SOURCE / "src" / layer).rglob("*.cpp")
                for name in re.findall(r'(?:getenv|is_set|variable)\("([A-Z_]+)"\)', file.read_text())}
        self.assertIn("NO_COLOR", read)
        self.assertEqual({name for name in read if name not in section}, set())

    def test_its_version_is_the_program_s(self):
        self.assertIn(run(PROGRAM, "--version")[1].strip(), shown())


if __name__ == "__main__":
    for tool in TOOLS:
        if shutil.which(tool) is None:
            print(f"skipped: no {tool} here")
            sys.exit(77)
    unittest.main(argv=sys.argv[:1])
