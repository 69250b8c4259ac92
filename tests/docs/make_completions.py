"""Prints the completions of a shell from the description of the command line (command_table) on stdin.

make_completions.py bash|zsh|fish < TABLE
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = "cudart-doctor"


def command_id(command):
    """How the scripts call a command; the program itself has no name."""
    return command["name"] or "-"


def offered_options(command):
    """Own options first: --help of a command is its own."""
    own = [each for each in command["options"] if each["names"]]
    names = {name for each in own for name in each["names"]}
    return own + [each for each in command["shared"] if not names & set(each["names"])]


def arguments(command):
    return [each for each in command["options"] if not each["names"]]


def takes_more(command):
    """`run ... -- CMD`"""
    return " -- " in command["usage"]


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def value_names(table):
    """Options whose next word is their value, in any command."""
    names = {}
    for command in table["commands"]:
        for option in command["options"]:
            if option["names"] and option["placeholder"] and not option["value_optional"]:
                names.update(dict.fromkeys(option["names"]))
    return list(names)


def filled(name, parts):
    text = (HERE / name).read_text()
    for key, value in parts.items():
        assert f"@{key}@" in text, key
        text = text.replace(f"@{key}@", value)
    return text


# --- bash

def bash_offer(option):
    """The call that sets COMPREPLY to what the value may be."""
    if option["kind"] == "words":
        return "_cudart_doctor_offer words " + quoted(" ".join(option["words"]))
    if option["kind"] == "list":
        return f'_cudart_doctor_offer words "$(_cudart_doctor_list {option["list"]})"'
    return f"_cudart_doctor_offer {option['kind']}"


def bash(table):
    options, values, places = [], {}, []
    for command in table["commands"]:
        each = offered_options(command)
        words = " ".join(name for option in each for name in option["names"])
        options.append(f"        {command_id(command)}) printf '%s' '{words}' ;;")
        for option in each:
            if option["placeholder"]:
                for name in option["names"]:
                    values.setdefault(bash_offer(option), []).append(f"'{command_id(command)} {name}'")
        for option in arguments(command):
            # An argument that may be repeated stands for all that follow.
            place = f'"{command_id(command)} "*' if option["repeatable"] else f'"{command_id(command)} 0"'
            places.append(f"        {place}) {bash_offer(option)} ;;")
    cases = []
    for offer, names in values.items():
        cases.append("        " + " | \\\n            ".join(names) + f") {offer} ;;")
    lists = [f"        {name}) printf '%s' " + quoted(" ".join(word for word, _ in words)) + " ;;"
             for name, words in table["lists"].items()]
    return filled("completion.bash.in", {
        "COMMANDS": " ".join(each["name"] for each in table["commands"] if each["name"]),
        "MORE": " | ".join(each["name"] for each in table["commands"] if takes_more(each)),
        "VALUED": " | ".join(value_names(table)),
        "OPTIONAL": " | ".join(dict.fromkeys(name for command in table["commands"] for option in command["options"]
                                             if option["value_optional"] for name in option["names"])),
        "OPTIONS": "\n".join(options),
        "LISTS": "\n".join(lists),
        "VALUES": "\n".join(cases),
        "PLACES": "\n".join(places),
    })


# --- zsh

def zsh_text(text):
    """Inside [...] of _arguments, in single quotes."""
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text.replace("'", "'\\''")


def zsh_action(option):
    kind = option["kind"]
    if kind == "words":
        return "(" + " ".join(option["words"]) + ")"
    if kind == "list":
        return f"_cudart_doctor_{option['list']}"
    return {"file": "_files", "directory": "_files -/", "process": "_pids"}.get(kind, " ")


def zsh_option(option):
    placeholder = zsh_text(option["placeholder"])
    value = ""
    if option["placeholder"]:
        value = f"{'::' if option['value_optional'] else ':'}{placeholder}:{zsh_action(option)}"
    specs = []
    for name in option["names"]:
        # A long name may have its value behind =, a short one at once.
        joint = ("=" if name.startswith("--") else "+") if option["placeholder"] else ""
        before = "*" if option["repeatable"] else "(" + " ".join(option["names"]) + ")"
        specs.append(f"            '{before}{name}{joint}[{zsh_text(option['text'])}]{value}'")
    return specs


def zsh(table):
    lists, cases = [], []
    for name, words in table["lists"].items():
        lists.append(f"_cudart_doctor_{name}() {{\n    local -a offered=(")
        for word, text in words:
            entry = word.replace(":", "\\:") + (":" + text if text else "")
            lists.append("        " + quoted(entry))
        colon = " -S ''" if any(word.endswith(":") for word, _ in words) else ""
        lists.append(f"    )\n    _describe -t {name} {name} offered{colon}\n}}\n")
    for command in table["commands"]:
        specs = [line for option in offered_options(command) for line in zsh_option(option)]
        for option in arguments(command):
            place = "*" if option["repeatable"] else "1"
            optional = ":" if option["required"] or place == "*" else "::"
            specs.append(f"            '{place}{optional}{zsh_text(option['placeholder'])}:{zsh_action(option)}'")
        if not command["name"]:
            specs.append("            '1::command:_cudart_doctor_commands'")
        if takes_more(command):
            specs.append("            '1::command:(--)'")
        cases.append(f"        {command_id(command)}) specs=(\n" + "\n".join(specs) + "\n        ) ;;")
    commands = [f"        {quoted(each['name'] + ':' + each['text'])}" for each in table["commands"] if each["name"]]
    return filled("completion.zsh.in", {
        "LISTS": "\n".join(lists),
        "COMMANDS": "\n".join(commands),
        "NAMES": " | ".join(each["name"] for each in table["commands"] if each["name"]),
        "MORE": " | ".join(each["name"] for each in table["commands"] if takes_more(each)),
        "VALUED": " | ".join(value_names(table)),
        "CASES": "\n".join(cases),
    })


# --- fish

def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_offer(option):
    """The options of `complete` for the value."""
    kind = option["kind"]
    if kind == "words":
        return "-x -a " + fish_quoted(" ".join(option["words"]))
    if kind == "list":
        return f"-x -a '(__cudart_doctor_{option['list']})'"
    return {"file": "-r -F", "directory": "-x -a '(__fish_complete_directories)'",
            "process": "-x -a '(__fish_complete_pids)'", "none": ""}.get(kind, "-x")


def fish(table):
    # The same option with the same offer is one line, for all commands that have it.
    rows = {}
    for command in table["commands"]:
        for option in offered_options(command):
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                             for name in option["names"])
            offer = fish_offer(option)
            if option["value_optional"]:
                offer = offer.removeprefix("-x ")
            key = (names, offer, option["text"])
            rows.setdefault(key, []).append(command_id(command))
    lines = []
    for (names, offer, text), commands in rows.items():
        condition = fish_quoted("__cudart_doctor_in " + " ".join(commands))
        lines.append(" ".join(part for part in (f"complete -c {PROGRAM} -n {condition}", names, offer,
                                                f"-d {fish_quoted(text)}") if part))
    for command in table["commands"]:
        for option in offered_options(command):
            if option["value_optional"]:
                condition = fish_quoted(f"__cudart_doctor_in {command_id(command)}; "
                                        f"and __cudart_doctor_behind {' '.join(option['names'])}")
                lines.append(f"complete -c {PROGRAM} -n {condition} {fish_offer(option).removeprefix('-x ')}")
        for option in arguments(command):
            condition = fish_quoted(f"__cudart_doctor_in {command_id(command)}")
            offer = fish_offer(option).removeprefix("-x ").replace("-r -F", "-F")
            lines.append(f"complete -c {PROGRAM} -n {condition} {offer}")
        if command["name"]:
            lines.append(f"complete -c {PROGRAM} -n '__cudart_doctor_in -' -a {command['name']} "
                         f"-d {fish_quoted(command['text'])}")
        if takes_more(command):
            lines.append(f"complete -c {PROGRAM} -n '__cudart_doctor_in {command['name']}' -a -- -d Command")
    lists = []
    for name, words in table["lists"].items():
        lists.append(f"function __cudart_doctor_{name}\n    printf '%s\\t%s\\n' \\")
        lists.append(" \\\n".join(f"        {fish_quoted(word)} {fish_quoted(text)}" for word, text in words) + "\nend\n")
    return filled("completion.fish.in", {
        "NAMES": " ".join(each["name"] for each in table["commands"] if each["name"]),
        "MORE": " ".join(each["name"] for each in table["commands"] if takes_more(each)),
        "VALUED": " ".join(value_names(table)),
        "LISTS": "\n".join(lists),
        "LINES": "\n".join(lines),
    })


if __name__ == "__main__":
    print({"bash": bash, "zsh": zsh, "fish": fish}[sys.argv[1]](json.load(sys.stdin)), end="")
