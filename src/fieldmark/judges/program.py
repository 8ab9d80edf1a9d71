"""The program of a judge or target: its environment, its limits, and checks before the start."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from fieldmark.errors import OptionError
from fieldmark.judges.redaction import Redactor, is_secret_variable

MEGABYTE: Final = 1 << 20
VARIABLE_PREFIX: Final = "env:"
"""The prefix of a value that refers to an environment variable."""
_PASSED_ON: Final = frozenset({
    "PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP",
    "APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "USERPROFILE",
})  # fmt: skip
"""The variables in the second line exist only on Windows, where many programs need them to
start."""
_PASSED_ON_PREFIX: Final = "LC_"
_SCRIPT: Final = re.compile(
    r"[^-].*\.(?:pyz?|[cm]?js|[cm]?ts|rb|pl|php|(?:ba)?sh|lua|r|jl|jar)", re.IGNORECASE
)
_CODE_OPTIONS: Final = frozenset({"-c", "-e", "-m", "--eval"})
"""Interpreter options that take code or a module instead of a file."""
_HEAD_BYTES: Final = 256
_WINDOWS: Final = sys.platform == "win32"
_BATCH_FILES: Final = frozenset({".bat", ".cmd"})

DeclaredVariables: TypeAlias = Mapping[str, str] | Iterable[str]
"""Names of variables to pass on, or names with values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Limits of one program; it is killed when it exceeds them, and its output is never truncated.

    Standard error may have `error_bytes`; the last `tail_bytes` are reported. `grace` is
    the number of seconds between SIGTERM and SIGKILL, `linger` the number of seconds to wait for
    output of processes that outlive the program. CPU time is limited too unless the program is
    `long_lived`.
    """

    seconds: float = 30.0
    output_bytes: int = MEGABYTE
    error_bytes: int = 16 * MEGABYTE
    tail_bytes: int = 64 << 10
    input_bytes: int = 16 * MEGABYTE
    grace: float = 2.0
    linger: float = 1.0
    memory_bytes: int | None = None
    long_lived: bool = False
    file_bytes: int = 1024 * MEGABYTE
    open_files: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A command line, which is not passed to a shell, with its complete environment and limits."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path | None = None
    limits: ProcessLimits = field(default_factory=ProcessLimits)
    redactor: Redactor = field(init=False, repr=False, compare=False)
    """Redacts the secrets of the environment."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "redactor", Redactor.from_environment(self.env))

    @classmethod
    def from_options(
        cls,
        argv: Sequence[str],
        variables: DeclaredVariables,
        cwd: Path | None,
        limits: ProcessLimits,
    ) -> Program:
        """Return the program that the options of a judge or target describe."""
        env = program_environment(variables)
        if limits.long_lived:
            # Otherwise Python would buffer its output.
            env = {"PYTHONUNBUFFERED": "1", **env}
        if _WINDOWS:
            # Otherwise Python would not write UTF-8.
            env = {"PYTHONUTF8": "1", **env}
        return cls(argv=program_argv(argv, env, cwd), env=env, cwd=cwd, limits=limits)


def program_environment(
    declared: DeclaredVariables, own: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment of a program: a few common variables and the declared ones.

    The value `env:NAME` is replaced by the value of the variable NAME.

    >>> program_environment({"MODE": "fast", "KEY": "env:MY_KEY"}, {"MY_KEY": "k", "OTHER": "o"})
    {'MODE': 'fast', 'KEY': 'k'}
    """
    passed_on = {
        name: value
        for name, value in own.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIX)
    }
    if not isinstance(declared, Mapping):
        return {**passed_on, **{name: own[name] for name in declared if name in own}}
    values = {
        name: own.get(value.removeprefix(VARIABLE_PREFIX), "") if _is_reference(value) else value
        for name, value in declared.items()
    }
    return {**passed_on, **values}


def unset_variables(declared: DeclaredVariables, own: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variables that are referred to but not set."""
    values = declared.values() if isinstance(declared, Mapping) else ()
    names = [value.removeprefix(VARIABLE_PREFIX) for value in values if _is_reference(value)]
    return [name for name in names if name not in own]


def check_environment(declared: DeclaredVariables) -> None:
    """Raise OptionError for an invalid variable, or for a secret in the file."""
    for name in declared:
        if not name or "=" in name or "\0" in name:
            raise OptionError("env", f"{name!r} is not a valid variable name")
    if not isinstance(declared, Mapping):
        return
    for name, value in declared.items():
        if "\0" in value:
            raise OptionError("env", f"the value of {name!r} must not contain NUL characters")
        if value and not _is_reference(value) and is_secret_variable(name, value):
            message = (
                f"{name!r} looks like a secret; use {VARIABLE_PREFIX}NAME as its value, "
                "and set the environment variable NAME"
            )
            raise OptionError("env", message)


def _is_reference(value: str) -> bool:
    return value.startswith(VARIABLE_PREFIX)


def program_argv(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
) -> tuple[str, ...]:
    """Return the command line; `python` is this interpreter unless there is one on the path.

    Windows would look for the program on the path and in the directory of this process.
    """
    name, *arguments = argv
    if name == "python" and shutil.which("python", path=env.get("PATH")) is None:
        name = sys.executable
    elif _WINDOWS and _is_path(name):
        name = str((cwd or Path()).absolute() / name)
    elif _WINDOWS:
        name = shutil.which(name, path=env.get("PATH")) or name
    return (name, *arguments)


def startup_problem(
    argv: Sequence[str], cwd: Path | None, declared: Mapping[str, str] | Sequence[str]
) -> str | None:
    """Return why a program cannot be started with these variables, or `None`."""
    unset = unset_variables(declared)
    if unset:
        return f"the environment variable {unset[0]} is not set"
    env = program_environment(declared)
    return check_startable(program_argv(argv, env, cwd), cwd, env)


def check_startable(argv: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> str | None:
    """Return why a program cannot be started, judging by its files, or `None`.

    >>> check_startable(["no-such-program"], None, {"PATH": "/usr/bin:/bin"})
    'no-such-program not found on PATH'
    """
    directory = cwd or Path()
    if not directory.is_dir():
        return f"directory {directory} not found"
    if problem := _program_problem(argv[0], directory, env):
        return problem
    # The script of an interpreter is the first argument that looks like one.
    script = next((word for word in argv[1:] if _SCRIPT.fullmatch(word)), None)
    if script is None or (directory / script).is_file() or _CODE_OPTIONS.intersection(argv[1:]):
        return None
    return f"script {script} not found in {directory}"


def _program_problem(name: str, directory: Path, env: Mapping[str, str]) -> str | None:
    if not _is_path(name):
        if shutil.which(name, path=env.get("PATH")) is not None:
            return None
        words = name.split()
        hint = f"; write the command as a list: [{', '.join(words)}]" if len(words) > 1 else ""
        return f"{name} not found on PATH{hint}"
    file = directory / name
    if not file.is_file():
        return f"{name} is not a file" if file.exists() else f"{name} not found in {directory}"
    if not os.access(file, os.X_OK):
        return f"{name} is not executable; make it executable or put its interpreter first"
    return _interpreter_problem(name, file)


def _is_path(name: str) -> bool:
    """Return whether a program is not looked for on the path."""
    return os.path.dirname(name) != ""  # noqa: PTH120 - "./judge" has a directory


def _interpreter_problem(name: str, file: Path) -> str | None:
    """Return why the system cannot run an executable text file, or `None`."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        # An executable file may be unreadable.
        return None
    if _WINDOWS:
        starts = head.startswith(b"MZ") or file.suffix.lower() in _BATCH_FILES
        return None if starts else f"{name} is not a Windows program; put its interpreter first"
    if head.startswith(b"#!"):
        words = head[2:].partition(b"\n")[0].split()
        interpreter = Path(os.fsdecode(words[0])) if words else Path()
        return None if interpreter.is_file() else f"interpreter {interpreter} of {name} not found"
    if head and b"\0" not in head:
        return f"{name} does not start with #!; put its interpreter first"
    return None
