"""Completions in real shells: which words each offers for a line.

completions_test.py SHELL SCRIPT PROGRAM
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SHELL, SCRIPT, PROGRAM = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
LIMIT_S = 30
PID = str(os.getpid())

# Line, what must be offered, what must not.
TABLE = (
    ("", "run snapshot policies explain diff", ""),
    ("sn", "snapshot", "run"),
    ("--fo", "--format", "--from"),
    ("--f", "--format --from --fail-on", "--pid"),
    ("--format ", "text json line markdown html prometheus junit", "--pid run"),
    ("--format j", "json junit", "text"),
    ("diff --format ", "text json", "html junit"),
    ("--json diff --format ", "text json", "html junit"),
    ("--color ", "auto always never", ""),
    ("--probe r", "require", "auto"),
    ("--exit-style ", "default nagios npd always-zero", ""),
    ("--fail-on ", "info warning error critical", ""),
    ("--log-level ", "trace debug info warn error off", ""),
    ("--devices ", "all", ""),
    ("--policy flashinfer", "flashinfer-2026-09", "all"),
    ("--explain-selection a", "all", "auto"),
    ("--allow RT0", "RT04 RT07", "SY06"),
    ("--allow lookalike", "lookalike-selected", ""),
    ("explain RT0", "RT04", "SY06"),
    ("explain --pid 1 RT0", "RT04", ""),
    ("policies flashinfer", "flashinfer-2026-09", ""),
    ("run ", "--", "snapshot"),
    ("run --ga", "--gate", ""),
    ("run --then ", "keep stop", ""),
    ("run --ready-when ", "mapped: port: output: after: stable:", ""),
    ("run --p", "--python --policy --profile", "--pid --port --peer --probe --pairs"),
    ("diff --i", "--ignore", ""),
    ("diff --ignore o", "order", "verdict"),
    ("diff --p", "", "--pid --port --policy --probe"),
    ("--pid run snap", "snapshot", ""),
    ("-o run --jud", "", "--judge-exit"),
    ("--from ", "folder/", "report.json"),
    ("snapshot --dir ", "folder/", "report.json"),
    ("run --record ", "folder/", "report.json"),
    ("-o rep", "report.json", "folder/"),
    ("--allow-file ", "report.json folder/", ""),
    ("--load rep", "report.json", ""),
    ("--python fo", "folder/", "report.json"),
    ("diff rep", "report.json", ""),
    ("diff report.json fo", "folder/", "report.json"),
    (f"--pid {PID[:-1]}", PID, ""),
    (f"--pid 1 --peer {PID[:-1]}", PID, ""),
    ("run --gate -- doctor-to", "doctor-tool", ""),
    ("run --gate -- doctor-tool rep", "report.json", "run"),
)

ZSH_START = r"""
autoload -Uz compinit
compinit -u -D
setopt no_auto_menu no_auto_list no_list_beep
source $SCRIPT
compadd() {
    local -a hits
    if [[ " ${(j: :)@[1,(i)(-|--)]} " != *' -'[OAD]* ]]; then
        builtin compadd -A hits "$@"
        print -rl -u $TO -- $hits
    fi
    builtin compadd "$@"
}
doctor-probe() {
    IFS= read -r -u $FROM BUFFER
    CURSOR=$#BUFFER
    zle complete-word
    print -u $TO -- $'\1'
    BUFFER=
}
zle -N doctor-probe
bindkey '^I' doctor-probe
print -u $TO -- $'\1'
"""

BASH_ASK = r"""
source "$SCRIPT"
# As readline does: blanks end a word, = and : are words of their own.
while IFS= read -r COMP_LINE; do
    rest=$COMP_LINE COMP_WORDS=() fresh=yes
    while [[ -n $rest ]]; do
        case $rest in
            ' '*) fresh=yes; rest=${rest#' '} ;;
            [:=]*) COMP_WORDS+=("${rest:0:1}"); rest=${rest:1}; fresh=no ;;
            *) word=${rest%%[ :=]*}; COMP_WORDS+=("$word"); rest=${rest#"$word"}; fresh=no ;;
        esac
    done
    if [[ $fresh == yes ]]; then COMP_WORDS+=(''); fi
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_POINT=${#COMP_LINE}
    _cudart_doctor cudart-doctor
    for word in "${COMPREPLY[@]}"; do
        if [[ -d $word ]]; then word+=/; fi
        printf '%s\n' "$word"
    done
    printf '\1\n'
done
"""

FISH_ASK = r"""
source $SCRIPT
while read -l line
    complete -C "$line" | string replace -r '\t.*' ''
    printf '\1\n'
end
"""


class Asker:
    """Lines in, offered words out; one shell for all of them."""

    def __init__(self, folder):
        self.folder = folder
        environment = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder / "home"),
                       "SCRIPT": str(SCRIPT.resolve()), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        self.terminal = None
        ask_read, self.ask = os.pipe()
        self.answer, answer_write = os.pipe()
        if SHELL == "zsh":
            self.terminal, side = pty.openpty()
            environment |= {"FROM": str(ask_read), "TO": str(answer_write)}
            self.process = subprocess.Popen(["zsh", "-f", "-i"], cwd=folder / "work", env=environment, stdin=side,
                                            stdout=side, stderr=side, pass_fds=(ask_read, answer_write),
                                            start_new_session=True)
            os.close(side)
            start = folder / "start.zsh"
            start.write_text(ZSH_START)
            os.write(self.terminal, f"source {start}\n".encode())
        else:
            command = (["bash", "--norc", "--noprofile", "-c", BASH_ASK] if SHELL == "bash"
                       else ["fish", "--no-config", "-c", FISH_ASK])
            self.process = subprocess.Popen(command, cwd=folder / "work", env=environment, stdin=ask_read,
                                            stdout=answer_write, start_new_session=True)
        os.close(ask_read)
        os.close(answer_write)
        self.heard = b""
        if SHELL == "zsh":
            self.words()

    def words(self):
        """What was offered, up to the mark."""
        end = time.monotonic() + LIMIT_S
        watched = [self.answer] + ([self.terminal] if self.terminal is not None else [])
        while b"\1\n" not in self.heard:
            ready, _, _ = select.select(watched, [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"{SHELL} does not answer; so far {self.heard!r}")
            for each in ready:
                more = os.read(each, 65536)
                if each == self.answer:
                    if not more:
                        raise AssertionError(f"{SHELL} ended: {self.heard!r}")
                    self.heard += more
        answer, _, self.heard = self.heard.partition(b"\1\n")
        return {line.rstrip(" ") for line in answer.decode().splitlines() if line}

    def offered(self, line):
        os.write(self.ask, f"cudart-doctor {line}\n".encode())
        if self.terminal is not None:
            os.write(self.terminal, b"\t")
        words = self.words()
        if SHELL == "zsh":
            # compadd is told of folders without the slash, which is drawn only.
            words |= {word + "/" for word in words if (self.folder / "work" / word).is_dir()}
        return words

    def close(self):
        os.close(self.ask)
        if self.terminal is not None:
            self.process.kill()
            os.close(self.terminal)
        self.process.wait()
        os.close(self.answer)


def help_of(*command):
    return subprocess.run([PROGRAM, *command, "--help"], check=True, capture_output=True, text=True).stdout


def options_of(text):
    """Every option that has a line of its own in a help; behind the column of names there are sentences."""
    names = set()
    for line in text.splitlines():
        if line.startswith("  -"):
            names |= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", re.split(r"\s{2,}", line.strip())[0]))
    return names


class Completions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, folder, True)
        for name in ("bin", "home", "work/folder"):
            (folder / name).mkdir(parents=True)
        (folder / "work" / "report.json").write_text("{}")
        tool = folder / "bin" / "doctor-tool"
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)
        cls.asker = Asker(folder)
        cls.addClassCleanup(cls.asker.close)

    def test_lines_offer_what_the_parser_takes(self):
        for line, wanted, unwanted in TABLE:
            with self.subTest(line):
                offered = self.asker.offered(line)
                self.assertLessEqual(set(wanted.split()), offered)
                self.assertFalse(set(unwanted.split()) & offered, offered)

    def test_a_value_may_stand_behind_an_equals_sign(self):
        offered = self.asker.offered("--format=ma")
        self.assertTrue(offered & {"markdown", "--format=markdown"}, offered)
        self.assertFalse(offered & {"json", "--format=json"}, offered)

    def test_every_option_of_every_help_is_offered(self):
        commands = re.findall(r"^  ([a-z][a-z-]*) +\S", help_of().partition("Subcommands:")[2].partition("\n\n")[0],
                              re.MULTILINE)
        self.assertIn("snapshot", commands)
        for command in [[], *([each] for each in commands)]:
            wanted = options_of(help_of(*command))
            self.assertIn("--help", wanted)
            with self.subTest(command):
                line = "".join(word + " " for word in command)
                long = {name for name in wanted if name.startswith("--")}
                self.assertLessEqual(long, self.asker.offered(line + "--"))
                # Some shells offer short options for a single dash only.
                offered = self.asker.offered(line + "-")
                self.assertLessEqual(wanted - long - {"-h"}, offered | self.asker.offered(line + "--"))


if __name__ == "__main__":
    if shutil.which(SHELL) is None:
        print(f"skipped: no {SHELL} here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
