"""Checks a file of configuration whatever it is: an eval file, rules or field strategies.

Nothing is run, nothing is imported that the file names, and no file is read that does not lie in
its folder or below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from fieldmark.config.context import Context
from fieldmark.config.eval_file import read_eval
from fieldmark.config.field_rules import uses_strategies
from fieldmark.config.files import load_file
from fieldmark.config.located import Located
from fieldmark.config.rules_file import loaded_rules
from fieldmark.errors import ConfigError, FieldmarkError, Problem
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["FileKind", "FileReport", "check_file"]


class FileKind(StrEnum):
    """What a file of configuration can be."""

    EVAL = "eval"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What there is to say about a file; without problems it can be used."""

    file: str
    kind: FileKind | None = None
    contents: str = ""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether the file can be used."""
        return not self.problems

    def to_dict(self) -> JsonObject:
        """The same as JSON."""
        return {
            "file": self.file,
            "kind": self.kind,
            "fine": self.fine,
            "contents": self.contents,
            "problems": [_as_json(problem) for problem in self.problems],
            "warnings": [_as_json(problem) for problem in self.warnings],
        }


def check_file(path: Path | str) -> FileReport:
    """Read a file as what its keys say it is, and tell everything that is wrong with it."""
    context = Context(folder=Path(path).parent, contained=True)
    kind: FileKind | None = None
    contents = ""
    problems: tuple[Problem, ...] = ()
    try:
        located = load_file(path)
        kind = _kind_of(located, str(path))
        contents = _READERS[kind](located, context)
        context.problems.raise_any()
    except ConfigError as error:
        problems = error.problems
    except FieldmarkError as error:
        problems = (Problem(str(error)),)
    return FileReport(
        file=str(path),
        kind=kind,
        contents="" if problems else contents,
        problems=problems,
        warnings=context.problems.warnings,
    )


def _kind_of(located: Located, file: str) -> FileKind:
    """An eval file is named so, or has what only eval files have; the rest are rules."""
    from fieldmark.config.agentv import is_agentv  # rarely needed

    named = Path(file).stem.endswith(".eval")
    return FileKind.EVAL if named or _is_eval(located) or is_agentv(located) else FileKind.RULES


def _is_eval(located: Located) -> bool:
    """Whether there are evaluators, or cases that are no rules for a list of that name."""
    evaluators, cases = located.get("evaluators"), located.get("cases")
    if evaluators is not None and isinstance(evaluators.value, list):
        return True
    if cases is None:
        return False
    beside = any(key in located.entries for key in _BESIDE_CASES)
    inline = isinstance(cases.value, list) and not uses_strategies(cases)
    return beside or inline or "path" in cases.entries


_BESIDE_CASES: Final = ("candidates", "target", "gates", "convention", "evaluators")


def _evaluation(located: Located, context: Context) -> str:
    spec = read_eval(located, context)
    where = "cases" if isinstance(spec.cases, Path) else _number(len(spec.cases), "case")
    held = f"{where} in {spec.cases.name}" if isinstance(spec.cases, Path) else where
    return f"eval file with {held}, {_number(len(spec.evaluators), 'evaluator')}"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _rules(located: Located, context: Context) -> str:
    loaded = loaded_rules(located, context)
    return f"{len(loaded.rules.fields)} rule(s)"


_READERS: Final = {FileKind.EVAL: _evaluation, FileKind.RULES: _rules}


def _as_json(problem: Problem) -> JsonValue:
    place = problem.location
    return {
        "message": problem.message,
        "hint": problem.hint,
        "file": place.file,
        "line": place.line,
        "column": place.column,
    }
