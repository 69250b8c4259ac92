"""Runs cudart-doctor and returns its report.

Nothing is decided here: reports and verdicts are those of the program `cudart-doctor`, which this package
installs beside itself.
"""

import json
import operator
import os
import subprocess
import sys
from importlib.metadata import distributions
from typing import Any, Dict, List, Optional, Sequence

from ._version import VERSION as __version__

__all__ = ["Error", "Failed", "check", "program", "report"]

_NAME = "cudart-doctor"
# The program ends by its own --timeout; this is for one that cannot (seconds on top of it).
_GRACE = 5.0
# The longest --timeout (seconds).
_LONGEST = 86400.0
# These say what is inspected, or which environment: nothing is then added for "no PID".
_TARGETS = ("--pid", "--port", "--from", "--python", "--all")
# These say how the report comes back, or give none: that is this module's business.
_OURS = ("--json", "--format", "--output", "--exit-style", "--json-schema", "--help", "--version")
_COMMANDS = ("run", "snapshot", "policies", "explain", "tree", "diff", "--")


class Error(Exception):
    """No report could be made, or none that decides.

    kind: as in the program's JSON (not_found, permission, gone, timeout, usage, ...); "usage" too where it was
        not started for what was asked; "undecided" where a report was made that passes no judgement (then it is
        `document`); "program" where the program is missing, cannot be started, or ended without an answer.
    message: for people.
    document: what the program printed, or None.
    """

    def __init__(self, kind: str, message: str, document: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(kind, message, document)
        self.kind = kind
        self.message = message
        self.document = document

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class Failed(Exception):
    """Something was found at or above --fail-on (error). The report is in `report`."""

    def __init__(self, report: Dict[str, Any]) -> None:
        super().__init__(report)
        self.report = report

    def __str__(self) -> str:
        return str(self.report["headline"]["sentence"])


def program() -> str:
    """The path of the program that was installed with this module, from the record of the installation.

    Neither PATH nor sys.path is searched: another version may be first there. Raises Error (kind "program").
    """
    try:
        module = os.path.realpath(__file__)
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        # pip install --target moves the folder after its record was written.
        paths = [os.path.join(folder, "bin", _NAME), *_recorded(folder, module)]
    except OSError as error:
        raise Error("program", f"the place of {__file__} cannot be read: {error}") from error
    for path in paths:
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise Error("program", f"no program at {' or '.join(paths)}; install the wheel of {_NAME} again")


def _recorded(folder: str, module: str) -> List[str]:
    """The programs of the installations in `folder` that this very file is of."""
    paths = []
    try:
        for each in distributions(name=_NAME, path=[folder]):
            files = each.files or []
            if any(file.name == "__init__.py" and os.path.realpath(str(file.locate())) == module for file in files):
                paths += [os.path.abspath(str(file.locate())) for file in files
                          if file.name == _NAME and file.parent.name == "bin"]
    except Exception:  # a record that cannot be parsed fails in many ways
        return []
    return paths


def report(pid: Optional[int] = None, *, timeout: Optional[float] = None,
           args: Sequence[str] = ()) -> Dict[str, Any]:
    """The report on a process, as `cudart-doctor --json` gives it.

    pid: a process. os.getpid() is the calling one, with the libraries that it has loaded so far.
        None is no process: what a program started from here would get, with the environment variables of the
        caller and the packages of the caller's interpreter (sys.executable). What the caller has loaded itself
        is not in that report, and nothing that it changed in its own loading (ctypes, RTLD_GLOBAL) is.
    timeout: seconds for the whole inspection; None is the program's own default.
    args: further options of the program, such as ["--probe", "off"]. Neither its other commands (tree, run,
        ...; ["--all"] is none) nor the options that say how the report comes back (--format, --exit-style,
        --output, ...): these are errors of usage.

    Raises Error where no report could be made. A report that finds something is returned, whatever it finds.
    """
    return _run(pid, timeout, args)


def check(pid: Optional[int] = None, *, timeout: Optional[float] = None,
          args: Sequence[str] = ()) -> Dict[str, Any]:
    """As report(), for a caller that wants to stop: returns the report where the verdict passes.

    Raises Failed where something was found, Error where that could not be decided; the options --fail-on and
    --allow in `args` say what counts.
    """
    document = _run(pid, timeout, args)
    verdict = document["verdict"]
    if verdict["state"] in ("ok", "warning"):
        return document
    if verdict["state"] == "findings":
        raise Failed(document)
    raise Error("undecided", str(verdict.get("undecided") or f"the verdict is {verdict['state']}"), document)


def _checked(args: Sequence[str]) -> List[str]:
    """As a list of text that a process can be given, without what is not for callers."""
    if isinstance(args, (str, bytes)):
        raise Error("usage", "args is a list of options, not a text")
    try:
        words = [os.fspath(each) for each in args]
        if any(not isinstance(each, str) or b"\0" in os.fsencode(each) for each in words):
            raise ValueError("an option is text without NUL")
    except (TypeError, ValueError) as error:
        raise Error("usage", f"args: {error}") from error
    for word in words:
        name = word.split("=")[0]
        # Letters can be written together: -vo.
        short = len(word) > 1 and word[0] == "-" and word[1] != "-" and ("o" in word or "h" in word)
        if name in _OURS or short:
            raise Error("usage", f"{word!r} is not for args: the report comes back as JSON, and its verdict decides")
        if word in _COMMANDS:
            raise Error("usage", f"{word!r} is another command, which is not for args; a value that is such a word"
                                 f" is written with its option: --from={word}")
    return words


def _seconds(timeout: float) -> float:
    """What the program can be asked for; it judges the range."""
    try:
        seconds = float(timeout)
    except (TypeError, ValueError, OverflowError) as error:
        raise Error("usage", f"timeout: {error}") from error
    if seconds != seconds or seconds in (float("inf"), float("-inf")):
        raise Error("usage", f"timeout: {seconds} is no number of seconds")
    return seconds


def _number(pid: int) -> str:
    try:
        return str(operator.index(pid))
    except (TypeError, ValueError) as error:  # ValueError: thousands of digits
        raise Error("usage", f"pid: {error}") from error


def _command(pid: Optional[int], seconds: Optional[float], args: Sequence[str]) -> List[str]:
    words = _checked(args)
    command = [program(), "--json"]
    if pid is not None:
        command.append(f"--pid={_number(pid)}")
    elif sys.executable and not any(each.split("=")[0] in _TARGETS for each in words):
        command += ["--python", sys.executable]
    if seconds is not None:
        command.append(f"--timeout={seconds}")
    return command + words


def _parsed(output: bytes) -> Optional[Dict[str, Any]]:
    """A report, or the program's error; None: something else."""
    try:
        document = json.loads(output)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("verdict"), dict):
        return None
    if "error" in document:
        error = document["error"]
        sound = isinstance(error, dict) and {"kind", "message"} <= error.keys()
    else:
        headline = document.get("headline")
        sound = "state" in document["verdict"] and isinstance(headline, dict) and "sentence" in headline
    return document if sound else None


def _run(pid: Optional[int], timeout: Optional[float], args: Sequence[str]) -> Dict[str, Any]:
    seconds = None if timeout is None else _seconds(timeout)
    command = _command(pid, seconds, args)
    limit = None if seconds is None else min(max(seconds, 0.0), _LONGEST) + _GRACE
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise Error("timeout", f"no answer within {timeout} s") from None
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise Error("program", f"cannot be started: {error}") from error
    document = _parsed(done.stdout)
    if document is None:
        said = done.stderr.decode("utf-8", "replace").strip() or "nothing"
        raise Error("program", f"exit status {done.returncode} without a report; it said: {said[-1000:]}")
    if "error" in document:
        raise Error(str(document["error"]["kind"]), str(document["error"]["message"]), document)
    if document["verdict"].get("exit_code") != done.returncode:
        raise Error("program", f"exit status {done.returncode} is not that of its report", document)
    return document
