"""Check a configuration file of any kind: an eval file, rules or field strategies.

Nothing is run, nothing that the file names is imported, and only files in its folder or below are
read.
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

_BESIDE_CASES: Final = ("candidates", "target", "gates", "convention", "evaluators")


class FileKind(StrEnum):
    """The kinds of configuration files."""

    EVAL = "eval"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The problems and warnings about a file; without problems it can be used."""

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
        """Return the report as JSON."""
        return {
            "file": self.file,
            "kind": self.kind,
            "fine": self.fine,
            "contents": self.contents,
            "problems": [_problem_to_json(problem) for problem in self.problems],
            "warnings": [_problem_to_json(problem) for problem in self.warnings],
        }


def check_file(path: Path | str) -> FileReport:
    """Read a file as the kind that its keys suggest, and report every problem."""
    context = Context(folder=Path(path).parent, contained=True)
    kind: FileKind | None = None
    contents = ""
    problems: tuple[Problem, ...] = ()
    try:
        located = load_file(path)
        kind = _kind_of(located, str(path))
        if kind is FileKind.RULES:
            contents = f"{len(loaded_rules(located, context).rules.fields)} rule(s)"
        else:
            spec = read_eval(located, context)
            if isinstance(spec.cases, Path):
                cases = f"cases in {spec.cases.name}"
            else:
                cases = _count(len(spec.cases), "case")
            contents = f"eval file with {cases}, {_count(len(spec.evaluators), 'evaluator')}"
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
    """Return the kind of a file: an eval file by its name or its keys, else rules.

    Rules may also have a field named `cases` or `evaluators`.
    """
    from fieldmark.config.agentv import is_agentv  # rarely needed

    evaluators, cases = located.get("evaluators"), located.get("cases")
    is_eval = (
        Path(file).stem.endswith(".eval")
        or is_agentv(located)
        or (evaluators is not None and isinstance(evaluators.value, list))
    )
    if cases is not None and not is_eval:
        is_eval = (
            any(key in located.entries for key in _BESIDE_CASES)
            or (isinstance(cases.value, list) and not uses_strategies(cases))
            or "path" in cases.entries
        )
    return FileKind.EVAL if is_eval else FileKind.RULES


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _problem_to_json(problem: Problem) -> JsonValue:
    location = problem.location
    return {
        "message": problem.message,
        "hint": problem.hint,
        "file": location.file,
        "line": location.line,
        "column": location.column,
    }
