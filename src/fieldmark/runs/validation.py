"""Validate eval files, rules files and strategy files.

Nothing is run or imported, and only files below the directory of the file are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from fieldmark.errors import ConfigError, FieldmarkError, Problem
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.rules.agentv import is_agentv
from fieldmark.rules.config_files import load_file
from fieldmark.rules.config_values import Code, Context, Located
from fieldmark.rules.rules_file import loaded_rules, uses_strategies
from fieldmark.runs.eval_file import read_eval
from fieldmark.values.text import plural

_BESIDE_CASES: Final = ("candidates", "target", "targets", "gates", "convention", "evaluators")


class FileKind(StrEnum):
    """The types of configuration files."""

    EVAL = "eval"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The problems and warnings of a file; it is valid if it has no problems."""

    file: str
    kind: FileKind | None = None
    contents: str = ""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the file is valid."""
        return not self.problems

    def to_dict(self) -> JsonObject:
        """Return the report as JSON."""
        return {
            "file": self.file,
            "kind": self.kind,
            "valid": self.valid,
            "contents": self.contents,
            "problems": [_problem_to_json(problem) for problem in self.problems],
            "warnings": [_problem_to_json(problem) for problem in self.warnings],
        }


def check_file(path: Path | str) -> FileReport:
    """Validate a file, whose type is detected, and report all problems."""
    context = Context(directory=Path(path).parent, contained=True, code=Code.CHECK)
    kind: FileKind | None = None
    contents = ""
    problems: tuple[Problem, ...] = ()
    try:
        located = load_file(path)
        kind = _kind_of(located, str(path))
        if kind is FileKind.RULES:
            contents = plural(len(loaded_rules(located, context).rules.fields), "rule")
        else:
            spec = read_eval(located, context)
            if isinstance(spec.cases, Path):
                cases = f"cases in {spec.cases.name}"
            else:
                cases = plural(len(spec.cases), "case")
            contents = f"{cases}, {plural(len(spec.evaluators), 'evaluator')}"
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
    """Return the type of a file: an eval file by its name or its keys, otherwise rules.

    Rules may also have fields named `cases` or `evaluators`.
    """
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


def _problem_to_json(problem: Problem) -> JsonValue:
    return {"message": problem.message, "hint": problem.hint, **problem.location._asdict()}
