"""Prints the manual page from the description of the command line (command_table) on stdin.

make_man.py < TABLE
"""

import json
import re
import sys
import textwrap

# The day on which the prose below was last changed; one that moved by itself would make each day another page.
DATE = "2026-12-01"

DESCRIPTION = (
    "Several libraries in one process may call themselves the CUDA runtime: the one of a wheel, the toolkit's, private "
    "stand-ins, files that were deleted or replaced meanwhile. `cudart-doctor` looks at a process from outside, says "
    "what each of them really is, which one vLLM, SGLang, FlashInfer and others would take and why, and what to do "
    "where that goes wrong.",
    "Without options it inspects what a program started here would get; with --pid or --port a running process; with "
    "--from what `cudart-doctor snapshot` kept. Where nobody uses the GPU, it also runs the runtimes in processes of "
    "its own (--probe).",
)

ENVIRONMENT = (
    ("NO_COLOR", "Set and not empty: no colours, unless --color always."),
    ("TERM", "Not set or dumb: no colours, unless --color always."),
    ("COLUMNS", "Width of text reports on a terminal, 40 to 80. Files and pipes always get 80 columns."),
    ("PATH", "Where --python looks for a name without a slash, and `run` for its command."),
    ("LD_LIBRARY_PATH, LD_PRELOAD", "What a program started here would get depends on them, as with any program; "
                                    "`run` takes them into account where it works out what its recorder needs."),
    ("LD_AUDIT, GLIBC_TUNABLES", "`run` adds its recorder to them for the command; what they hold stays."),
    ("VIRTUAL_ENV, CONDA_PREFIX, PYENV_ROOT, PYENV_VERSION, PYTHONPATH, PYTHONUSERBASE, PYTHONNOUSERSITE",
     "Those of the inspected process, or without one of this environment: where its Python finds packages."),
    ("TMPDIR, XDG_RUNTIME_DIR", "Folders in which `run` may lay its recorder, beside /tmp, /dev/shm and /var/tmp."),
    ("USER, LOGNAME, USERNAME, SUDO_USER, HOME", "Names that --redact takes out of messages too."),
)

FILES = (
    ("/proc/PID/", "All that is known of a running process: maps, the files mapped, its environment."),
    ("/etc/ld.so.cache", "In the view of the process: where the loader would find a library."),
    ("/usr/share/doc/cudart-doctor/docs/", "The findings, the rules, the formats, and the schema of the JSON report "
                                           "(below /usr/local/share where the program is in /usr/local/bin)."),
    ("/usr/share/doc/cudart-doctor/docs/integrations/", "Setups of monitors, schedulers and launches, to copy."),
)

SEE_ALSO = ("dlopen(3)", "proc(5)", "ld.so(8)")

LISTED = {"policy": "`cudart-doctor policies` lists the rules.", "rule": "`cudart-doctor policies` lists the rules.",
          "finding": "`cudart-doctor explain` lists the findings.", "subject": ""}
MOST_WORDS = 20


def escaped(text):
    for char, escape in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("^", "\\(ha"), ("~", "\\(ti")):
        text = text.replace(char, escape)
    # A control character of roff at the beginning of a line.
    return re.sub(r"^\.", r"\\&.", text)


def prose(text):
    """Filled lines, a sentence beginning one; `code` and options in bold."""
    lines = []
    for sentence in re.split(r"(?<=[.;]) (?=[A-Z`-])", " ".join(text.split())):
        lines += textwrap.wrap(sentence, 72, break_long_words=False, break_on_hyphens=False)
    out = "\n".join(escaped(line) for line in lines)
    out = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", out)
    return re.sub(r"(?<![\w\\.(/-])((?:\\-){2}[a-z]+(?:\\-[a-z]+)*)(?![^\\]*\\fR)", r"\\fB\1\\fR", out)


def sentence(text):
    return text if text.endswith(".") else text + "."


def capital(text):
    return text[:1].upper() + text[1:]


def heading(option):
    value = ""
    if option["placeholder"]:
        placeholder = "".join(f"\\fB{escaped(part)}\\fR" if re.fullmatch(r"[a-z-]{2,}", part) else
                              escaped(part) if part in "|[]:" else f"\\fI{escaped(part)}\\fR"
                              for part in re.split(r"([|\[\]:])", option["placeholder"]) if part)
        value = f"[{placeholder}]" if option["value_optional"] else placeholder
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in option["names"])
    return " ".join(part for part in (names, value) if part)


def option_text(option, lists):
    parts = [sentence(option["text"])]
    if option["words"] and option["words"][0] not in option["placeholder"]:
        parts.append("One of " + ", ".join(option["words"]) + ".")
    if option["list"]:
        words = [word for word, _ in lists[option["list"]]]
        # Beginnings ("port:") are in the option's text.
        few = len(words) <= MOST_WORDS and not words[0].endswith(":")
        parts.append("One of " + ", ".join(words) + "." if few else LISTED.get(option["list"], ""))
    if option["required"] and option["names"]:
        parts.append("Required.")
    if option["repeatable"] and option["names"]:
        parts.append("May be given more than once.")
    return " ".join(part for part in parts if part)


def tagged(tag, text):
    return f".TP\n{tag}\n{prose(text)}"


def option_list(options, lists):
    return "\n".join(tagged(heading(each), option_text(each, lists)) for each in options)


def usage(text):
    words = []
    for word in text.removesuffix(" [SUBCOMMAND]").split():
        words.append(f"\\fB{escaped(word)}\\fR" if re.fullmatch("[a-z-]+", word) else
                     re.sub(r"[A-Z|]*[A-Z]", r"\\fI\g<0>\\fR", escaped(word)))
    return " ".join(words)


def paragraphs(footer):
    """The parts of a help's end by the words they begin with; prose without such a word is the last."""
    out = {}
    for part in footer.strip("\n").split("\n\n"):
        first, _, rest = part.partition("\n")
        if first.startswith(("Exit code", "Examples:", "Options of")):
            out[first.split()[0]] = rest
        else:
            out.setdefault("text", []).append(part)
    return out


def rows(text):
    """Of a table in a help: (what, value) for each row, and the sentences behind it."""
    found, words = [], []
    for line in text.split("\n"):
        match = re.fullmatch(r" +(\S.*?) {3,}(\S.*)", line)
        if match is None:
            words.append(line.strip())
            continue
        found.append((" ".join([*words, match[1]]), match[2]))
        words = []
    return found, " ".join(words)


def exit_status(table, footer):
    found, behind = rows(paragraphs(footer)["Exit"])
    styles = table["exit_codes"]
    by_style = [dict(zip(styles, map(int, value.split()))) for _, value in found]
    assert by_style == [{name: codes[i] for name, codes in styles.items()} for i in range(len(found))], by_style
    lines = [".SH EXIT STATUS", prose("By --exit-style, which is default where it is not given:")]
    before = ""
    for (what, _), codes in zip(found, by_style):
        # Some rows go on with the sentence of the one before.
        what = f"{before}, {what}" if what.startswith("but ") else what
        before = what
        lines.append(tagged(escaped(", ".join(f"{name} {code}" for name, code in codes.items())), sentence(capital(what))))
    lines += [".PP", prose(behind)]
    return "\n".join(lines)


def examples(text):
    lines = []
    for line in text.split("\n"):
        command, _, what = line.strip().partition("  ")
        lines.append(f".TP\n\\fB{escaped(command)}\\fR")
        if what:
            lines.append(prose(sentence(capital(what.strip()))))
    return "\n".join(lines)


def command_section(command, lists):
    lines = [f".SS {escaped(usage_name(command))}", usage(command["usage"]), ".PP", prose(sentence(command["text"]))]
    footer = paragraphs(command["footer"])
    own = [each for each in command["options"]]
    for option in own:
        if not option["names"]:
            lines.append(tagged(heading(option), option_text(option, lists)))
    lines.append(option_list([each for each in own if each["names"]], lists))
    if command["shared"]:
        names = ", ".join(each["names"][-1] for each in command["shared"])
        lines += [".PP", prose(f"Of the options of cudart-doctor it takes {names}.")]
        fewer = [each for each in command["shared"] if each["kind"] == "words" and each["fewer"]]
        for each in fewer:
            lines.append(prose(f"{each['names'][-1]} is {' or '.join(each['words'])} here."))
    if "Exit" in footer:
        lines += [".PP", "Exit status:"]
        lines += [tagged(escaped(value), sentence(what)) for what, value in rows(footer["Exit"])[0]]
    if "Examples:" in footer:
        lines += [".PP", "Examples:"]
        lines += [f".PP\n\\fB{escaped(line.strip())}\\fR" for line in footer["Examples:"].split("\n")]
    return "\n".join(lines)


def usage_name(command):
    return f"cudart-doctor {command['name']}"


def page(table):
    program, *others = table["commands"]
    footer = paragraphs(program["footer"])
    all_words = {option["names"][-1]: option["words"] for option in program["options"] if option["names"]}
    for command in others:
        for option in command["shared"]:
            option["fewer"] = option["words"] != all_words[option["names"][-1]]
    parts = [
        '.\\" Generated by scripts/generate-docs from the program\'s options.',
        f'.TH CUDART\\-DOCTOR 1 {DATE} "{escaped(table["version"])}" "User Commands"',
        '.\\" The name of an option is never broken.\n.nh\n.ad l',
        ".SH NAME", f"cudart\\-doctor \\- {escaped(SUMMARY)}",
        ".SH SYNOPSIS", "\n.br\n".join(usage(each["usage"]) for each in table["commands"]),
        ".SH DESCRIPTION", "\n.PP\n".join(prose(each) for each in (*DESCRIPTION, *footer["text"])),
        ".SH OPTIONS", option_list(program["options"], table["lists"]),
        ".SH COMMANDS", "\n".join(command_section(each, table["lists"]) for each in others),
        exit_status(table, program["footer"]),
        ".SH ENVIRONMENT", "\n".join(tagged(f"\\fB{name}\\fR", text) for name, text in ENVIRONMENT),
        ".SH FILES", "\n".join(tagged(f"\\fI{escaped(name)}\\fR", text) for name, text in FILES),
        ".SH EXAMPLES", examples(footer["Examples:"]),
        ".SH SEE ALSO", ",\n".join(f".BR {re.sub(r'[(]', ' (', each)} ," if each != SEE_ALSO[-1] else
                                   f".BR {re.sub(r'[(]', ' (', each)}" for each in SEE_ALSO).replace(",\n", "\n"),
    ]
    return "\n".join(parts) + "\n"


SUMMARY = "which CUDA runtime a process uses, who picks it, and whether it works"

if __name__ == "__main__":
    print(page(json.load(sys.stdin)), end="")
