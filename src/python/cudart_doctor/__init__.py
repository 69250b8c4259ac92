"""Runs cudart-doctor and returns its report.

Nothing is decided here: reports and verdicts are those of the program `cudart-doctor`, which this package
installs beside itself.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, files
from typing import Any, Dict, List, Optional, Sequence

from ._version import VERSION as __version__

__all__ = ["Error", "Failed", "check", "program", "report"]

_NAME = "cudart-doctor"
# The program ends by its own --timeout; this is for one that cannot (seconds on top of it).
_GRACE = 5.0
# These say what is inspected, or which environment: nothing is then added for "no PID".
_TARGETS = ("--pid", "--port", "--from", "--python")


class Error(Exception):
    """No report could be made, or none that decides.

    kind: as in the program's JSON (not_found, permission, gone, timeout, ...); "undecided" where a report was
        made that passes no judgement (then it is `document`); "program" where the program is missing, cannot
        be started, or ended without an answer.
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

    PATH is not searched: another version may be first there. Raises Error (kind "program").
    """
    try:
        recorded = files(_NAME) or []
    except PackageNotFoundError:
        recorded = []
    paths = [os.path.abspath(str(file.locate())) for file in recorded
             if file.name == _NAME and file.parent.name == "bin"]
    # pip install --target moves the folder after its record was written.
    paths.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin", _NAME))
    for path in paths:
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise Error("program", f"no program at {' or '.join(paths)}; install the wheel of {_NAME} again")


def report(pid: Optional[int] = None, *, timeout: Optional[float] = None,
           args: Sequence[str] = ()) -> Dict[str, Any]:
    """The report on a process, as `cudart-doctor --json` gives it.

    pid: a process. os.getpid() is the calling one, with the libraries that it has loaded so far.
        None is no process: what a program started from here would get, with the environment variables of the
        caller and the packages of the caller's interpreter (sys.executable). What the caller has loaded itself
        is not in that report, and nothing that it changed in its own loading (ctypes, RTLD_GLOBAL) is.
    timeout: seconds for the whole inspection; None is the program's own default.
    args: further options of the program, such as ["--probe", "off"].

    Raises Error where no report could be made. A report that finds something is returned, whatever it finds.
    """
    return _run(pid, timeout, args)[1]


def check(pid: Optional[int] = None, *, timeout: Optional[float] = None,
          args: Sequence[str] = ()) -> Dict[str, Any]:
    """As report(), for a caller that wants to stop: returns the report where the verdict passes.

    Raises Failed where something was found (exit status 1), Error where that could not be decided; the
    options --fail-on and --allow in `args` say what counts.
    """
    status, document = _run(pid, timeout, args)
    if status == 0:
        return document
    if status == 1:
        raise Failed(document)
    verdict = document["verdict"]
    raise Error("undecided", str(verdict["undecided"] or f"exit status {status}"), document)


def _command(pid: Optional[int], timeout: Optional[float], args: Sequence[str]) -> List[str]:
    command = [program(), "--json"]
    if pid is not None:
        command += ["--pid", str(pid)]
    elif sys.executable and not any(each.split("=")[0] in _TARGETS for each in args):
        command += ["--python", sys.executable]
    if timeout is not None:
        command += ["--timeout", str(timeout)]
    return command + list(args)


def _run(pid: Optional[int], timeout: Optional[float], args: Sequence[str]) -> "tuple[int, Dict[str, Any]]":
    command = _command(pid, timeout, args)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=None if timeout is None else timeout + _GRACE, check=False)
    except subprocess.TimeoutExpired:
        raise Error("timeout", f"no answer within {timeout} s") from None
    except OSError as error:
        raise Error("program", f"cannot be started: {error}") from error
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("verdict"), dict):
        said = done.stderr.decode("utf-8", "replace").strip() or "nothing"
        raise Error("program", f"exit status {done.returncode} without a report; it said: {said[-1000:]}")
    if "error" in document:
        raise Error(document["error"]["kind"], document["error"]["message"], document)
    return done.returncode, document
