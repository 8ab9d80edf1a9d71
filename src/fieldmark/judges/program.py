"""The program of a judge or target: its environment, and whether it can be started."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.judges.redaction import is_secret_variable

__all__ = [
    "VARIABLE_PREFIX",
    "check_environment",
    "check_startable",
    "program_argv",
    "program_environment",
    "startup_problem",
    "unset_variables",
]

VARIABLE_PREFIX: Final = "env:"
"""The prefix of a value that stands for an environment variable."""
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP")
_PASSED_ON_PREFIX: Final = "LC_"
_SCRIPT: Final = re.compile(
    r"[^-].*\.(?:pyz?|[cm]?js|[cm]?ts|rb|pl|php|(?:ba)?sh|lua|r|jl|jar)", re.IGNORECASE
)
_CODE_OPTIONS: Final = frozenset({"-c", "-e", "-m", "--eval"})
"""Options of interpreters that are followed by code or a module instead of a file."""
_HEAD_BYTES: Final = 256

DeclaredVariables: TypeAlias = Mapping[str, str] | Iterable[str]
"""Names of variables to pass on, or names with values."""


def program_environment(
    declared: DeclaredVariables, own: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment of a program: a few common variables and the declared ones.

    The value `env:NAME` stands for the value of the variable NAME.

    >>> program_environment({"MODE": "fast", "KEY": "env:MY_KEY"}, {"MY_KEY": "k", "OTHER": "o"})
    {'MODE': 'fast', 'KEY': 'k'}
    """
    known = os.environ if own is None else own
    passed_on = {
        name: value
        for name, value in known.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIX)
    }
    if not isinstance(declared, Mapping):
        return {**passed_on, **{name: known[name] for name in declared if name in known}}
    values = {
        name: known.get(value.removeprefix(VARIABLE_PREFIX), "") if _is_reference(value) else value
        for name, value in declared.items()
    }
    return {**passed_on, **values}


def unset_variables(declared: DeclaredVariables, own: Mapping[str, str] | None = None) -> list[str]:
    """Return the variables that values refer to and that are not set."""
    known = os.environ if own is None else own
    values = declared.values() if isinstance(declared, Mapping) else ()
    names = [value.removeprefix(VARIABLE_PREFIX) for value in values if _is_reference(value)]
    return [name for name in names if name not in known]


def check_environment(declared: DeclaredVariables) -> None:
    """Raise OptionError for an invalid variable, or for a secret written into the file."""
    for name in declared:
        if not name or "=" in name or "\0" in name:
            raise OptionError("env", f"{name!r} is not the name of a variable")
    if not isinstance(declared, Mapping):
        return
    for name, value in declared.items():
        if "\0" in value:
            raise OptionError("env", f"the value of {name} holds a character that none may hold")
        if value and not _is_reference(value) and is_secret_variable(name, value):
            message = (
                f"{name} looks like a secret; write {name}: {VARIABLE_PREFIX}NAME, and set NAME"
            )
            raise OptionError("env", message)


def _is_reference(value: str) -> bool:
    return value.startswith(VARIABLE_PREFIX)


def program_argv(argv: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command line; `python` is this interpreter if there is no other one."""
    if argv[0] == "python" and shutil.which("python", path=env.get("PATH")) is None:
        return (sys.executable, *argv[1:])
    return tuple(argv)


def startup_problem(
    argv: Sequence[str], cwd: Path | None, declared: Mapping[str, str] | Sequence[str]
) -> str | None:
    """Return why a program cannot be started with these variables, without starting it."""
    unset = unset_variables(declared)
    if unset:
        return f"the variable {unset[0]} is not set"
    env = program_environment(declared)
    return check_startable(program_argv(argv, env), cwd, env)


def check_startable(argv: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> str | None:
    """Return why a program cannot be started, as far as its files tell.

    >>> check_startable(["no-such-program"], None, {"PATH": "/usr/bin:/bin"})
    'no-such-program is not on the path'
    """
    if os.name != "posix":
        return "programs can be run contained on Linux and macOS only"
    folder = cwd or Path()
    if not folder.is_dir():
        return f"the folder {folder} does not exist"
    if problem := _program_problem(argv[0], folder, env):
        return problem
    # The script of an interpreter is the first argument that looks like one.
    script = next((word for word in argv[1:] if _SCRIPT.fullmatch(word)), None)
    if script is None or (folder / script).is_file() or _CODE_OPTIONS.intersection(argv[1:]):
        return None
    return f"the script {script} does not exist in {folder}"


def _program_problem(name: str, folder: Path, env: Mapping[str, str]) -> str | None:
    if "/" not in name:
        if shutil.which(name, path=env.get("PATH")) is not None:
            return None
        words = name.split()
        hint = f"; write a list: [{', '.join(words)}]" if len(words) > 1 else ""
        return f"{name} is not on the path{hint}"
    file = folder / name
    if not file.is_file():
        return f"{name} does not exist in {folder}" if not file.exists() else f"{name} is no file"
    if not os.access(file, os.X_OK):
        return f"{name} is not executable; name its interpreter first, or make it executable"
    return _interpreter_problem(name, file)


def _interpreter_problem(name: str, file: Path) -> str | None:
    """Return why the system cannot run an executable text file."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        # An executable file need not be readable.
        return None
    if head.startswith(b"#!"):
        words = head[2:].partition(b"\n")[0].split()
        interpreter = Path(os.fsdecode(words[0])) if words else Path()
        return None if interpreter.is_file() else f"{name} asks for {interpreter}, which is missing"
    if head and b"\0" not in head:
        return f"{name} does not begin with #!; name its interpreter first"
    return None
