"""Finds out before a run why a program could not be started at all."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from fieldmark.judges.environment import environment, undefined

__all__ = ["program_of", "unready_program", "unstartable"]

_SCRIPT: Final = re.compile(
    r"[^-].*\.(?:pyz?|[cm]?js|[cm]?ts|rb|pl|php|(?:ba)?sh|lua|r|jl|jar)", re.IGNORECASE
)
_CODE_FOLLOWS: Final = frozenset({"-c", "-e", "-m", "--eval"})
"""After these an interpreter takes the next word for code or for a module, not for a file."""
_HEAD: Final = 256


def program_of(argv: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """The words to start; `python` is the interpreter that runs us where no other has that name."""
    if argv[0] == "python" and shutil.which("python", path=env.get("PATH")) is None:
        return (sys.executable, *argv[1:])
    return tuple(argv)


def unready_program(
    argv: Sequence[str], cwd: Path | None, declared: Mapping[str, str] | Sequence[str]
) -> str | None:
    """Why a program with these variables cannot be started; it is not started to find out."""
    unset = undefined(declared)
    if unset:
        return f"the variable {unset[0]} is not set"
    env = environment(declared)
    return unstartable(program_of(argv, env), cwd, env)


def unstartable(argv: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> str | None:
    """Why a program cannot be started, as far as looking tells; nothing if it probably can.

    >>> unstartable(["no-such-program"], None, {"PATH": "/usr/bin:/bin"})
    'no-such-program is not on the path'
    """
    if os.name != "posix":
        return "programs can be run contained on Linux and macOS only"
    folder = cwd or Path()
    if not folder.is_dir():
        return f"the folder {folder} does not exist"
    return _no_program(argv[0], folder, env) or _no_script(argv[1:], folder)


def _no_program(name: str, folder: Path, env: Mapping[str, str]) -> str | None:
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
    return _no_interpreter(name, file)


def _no_interpreter(name: str, file: Path) -> str | None:
    """Why the system would not know how to run a file that is text."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError:
        # What may be run need not be readable.
        return None
    if head.startswith(b"#!"):
        words = head[2:].partition(b"\n")[0].split()
        interpreter = Path(os.fsdecode(words[0])) if words else Path()
        return None if interpreter.is_file() else f"{name} asks for {interpreter}, which is missing"
    if head and b"\0" not in head:
        return f"{name} does not begin with #!; name its interpreter first"
    return None


def _no_script(words: Sequence[str], folder: Path) -> str | None:
    """Why an interpreter would not find its script: the first word that is the name of one."""
    if _CODE_FOLLOWS.intersection(words):
        return None
    script = next((word for word in words if _SCRIPT.fullmatch(word)), None)
    if script is None or (folder / script).is_file():
        return None
    return f"the script {script} does not exist in {folder}"
