"""Mistakes that are known and accepted, as a baseline of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final, cast

from fieldmark.data.input_files import open_file, read_whole
from fieldmark.errors import ConfigError, LimitError, Location, StorageError
from fieldmark.metrics.counts import MISTAKES
from fieldmark.model.case import CaseInput, Verdict
from fieldmark.model.json import JsonObject
from fieldmark.model.outcome import Outcome
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.disk import write_atomic
from fieldmark.values.annotations import Choices
from fieldmark.values.json_text import pretty_json, read_document
from fieldmark.values.records import OMIT_DEFAULT, from_json, record_fields, to_json

_MISTAKES: Final = frozenset(outcome.label for outcome in MISTAKES if outcome is not Outcome.ERROR)
_VERDICTS: Final = frozenset({Verdict.PARTIAL.value, Verdict.FAIL.value})
_INPUTS: Final = frozenset({CaseInput.MISSING.value, CaseInput.PARSE_ERROR.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOutcomes:
    """The mistakes of one case, without values of its documents.

    `fields` are outcomes by path, `evaluators` verdicts by name. `input` says that there was no
    candidate, or that it could not be parsed.
    """

    fields: Annotated[
        Mapping[str, Annotated[str, Choices(lambda: sorted(_MISTAKES))]], OMIT_DEFAULT
    ] = field(default_factory=dict)
    evaluators: Annotated[
        Mapping[str, Annotated[str, Choices(lambda: sorted(_VERDICTS))]], OMIT_DEFAULT
    ] = field(default_factory=dict)
    input: Annotated[str, Choices(lambda: sorted(_INPUTS)), OMIT_DEFAULT] = ""

    def __bool__(self) -> bool:
        return bool(self.fields or self.evaluators or self.input)

    def __len__(self) -> int:
        return len(self.fields) + len(self.evaluators) + bool(self.input)

    def __sub__(self, other: KnownOutcomes) -> KnownOutcomes:
        """Return the mistakes that the other case does not have in the same way."""
        return KnownOutcomes(
            fields=dict(self.fields.items() - other.fields.items()),
            evaluators=dict(self.evaluators.items() - other.evaluators.items()),
            input=self.input if self.input != other.input else "",
        )


def outcomes_of(case: CaseResult) -> KnownOutcomes | None:
    """Return the mistakes of a case, or `None` if it could not be evaluated."""
    if case.score is None or case.status != "ok" or case.input == CaseInput.FAILED:
        return None
    evaluators = {result.name: result.score for result in case.evaluator_results}
    if any(score.verdict is None for score in evaluators.values()):
        return None
    return KnownOutcomes(
        fields={
            field.path: field.outcome for field in case.iter_fields() if field.outcome in _MISTAKES
        },
        evaluators={
            name: str(score.verdict)
            for name, score in evaluators.items()
            if score.verdict != "pass"
        },
        input=case.input if case.input in _INPUTS else "",
    )


@dataclass(frozen=True, slots=True)
class _File:
    """The content of a file: the cases of each test."""

    FORMAT: ClassVar[int] = 1

    tests: Mapping[str, tuple[KnownOutcomes, ...]]


def known_to_json(tests: Mapping[str, Sequence[KnownOutcomes]]) -> JsonObject:
    """Return the mistakes of tests, each with a list of cases, as the content of a file."""
    return to_json(
        _File(
            {
                name: tuple(
                    replace(
                        case,
                        fields=dict(sorted(case.fields.items())),
                        evaluators=dict(sorted(case.evaluators.items())),
                    )
                    for case in tests[name]
                )
                for name in sorted(tests)
            }
        )
    )


def known_from_json(document: JsonObject) -> dict[str, tuple[KnownOutcomes, ...]]:
    """Read the content of a file; anything unexpected raises `ValueError`."""
    tests = from_json(_File, document).tests
    keys = {key_field.key for key_field in record_fields(KnownOutcomes)}
    for cases in cast("dict[str, list[JsonObject]]", document["tests"]).values():
        for name in (name for case in cases for name in case if name not in keys):
            raise ValueError(f"unknown key {name!r}")
    return dict(tests)


_MAX_BYTES: Final = 64 << 20


def baseline_file(path: Path) -> Path:
    """Return the file next to a test module or an eval file.

    >>> baseline_file(Path("invoices.eval.yaml")).name
    'invoices.eval.baseline.json'
    """
    return path.with_suffix(".baseline.json")


def read_known(path: Path) -> dict[str, tuple[KnownOutcomes, ...]]:
    """Return the known mistakes by the name of the test; without a file, there are none."""
    if not path.exists():
        return {}
    opened = open_file(path)
    try:
        content = read_whole(opened, _MAX_BYTES)
    finally:
        opened.close()
    if len(content) > _MAX_BYTES:
        message = f"baseline larger than {_MAX_BYTES:,} bytes"
        raise LimitError("baseline_bytes", message, Location(str(path)))
    try:
        return known_from_json(read_document(content))
    except ValueError as error:
        hint = "delete the file and run pytest --fieldmark-update to write it again"
        raise ConfigError.of(f"invalid baseline: {error}", Location(str(path)), hint) from error


def write_known(path: Path, tests: Mapping[str, Sequence[KnownOutcomes]]) -> None:
    """Write the known mistakes of tests; without any, the file is deleted."""
    known = {name: cases for name, cases in tests.items() if any(cases)}
    if known:
        write_atomic(path, pretty_json(known_to_json(known)))
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"cannot delete {path}: {error.strerror}") from error
