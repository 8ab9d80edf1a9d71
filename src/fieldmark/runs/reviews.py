"""Reviews: the decision of a person about one field of a run, and its meaning."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias, cast

from fieldmark.compare.wrappers import Tokens
from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.metrics.identity import canonical_sha256
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import ItemPlace
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.runs.disk import DISK
from fieldmark.runs.lock import directory_lock
from fieldmark.runs.run_directory import MANIFEST
from fieldmark.values.json_text import read_document, strict_json
from fieldmark.values.paths import ANY_DEPTH, ANY_ITEM, ROOT, parse_path, path_or_none, resolve
from fieldmark.values.paths import Path as FieldPath
from fieldmark.values.presence import is_present
from fieldmark.values.records import OMIT_DEFAULT, OPTIONAL, from_json, to_json

_DIGITS: Final = 16


class Decision(StrEnum):
    """The decision of a person about a field.

    `COMMENT` decides nothing, and `UNDO` withdraws another review.
    """

    ACCEPT_TRUTH = "accept_truth"
    ACCEPT_CANDIDATE = "accept_candidate"
    CORRECTION = "correction"
    AMBIGUOUS = "ambiguous"
    COMMENT = "comment"
    UNDO = "undo"


class FieldKey(NamedTuple):
    """What identifies a field of a run.

    Two items of a list, one missing and one extra, can have the same index: they differ in which
    side has a value.
    """

    case_id: str
    path: str
    candidate_path: str
    in_truth: bool
    in_candidate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One decision about a field, or a comment on it.

    `expected` and `candidate` are the values that it was made on. `values` are the correction, or
    all acceptable values of an ambiguous field. `undoes` is the id of the review that an undo
    withdraws. `by` is the name of the user, and `at` the time.
    """

    id: str
    case_id: str
    path: str
    decision: Decision
    by: Annotated[str, OPTIONAL] = ""
    at: Annotated[str, OPTIONAL] = ""
    candidate_path: str
    expected: JsonValue | Missing
    candidate: JsonValue | Missing
    values: Annotated[tuple[JsonValue, ...], OMIT_DEFAULT] = ()
    comment: Annotated[str, OMIT_DEFAULT] = ""
    undoes: Annotated[str, OMIT_DEFAULT] = ""

    @property
    def field(self) -> FieldKey:
        """The field that the review is about."""
        return FieldKey(
            self.case_id,
            self.path,
            self.candidate_path,
            self.expected is not MISSING,
            self.candidate is not MISSING,
        )

    @property
    def values_hash(self) -> str:
        """A hash of the values that the review was made on."""
        return values_hash(self.expected, self.candidate)

    def to_dict(self) -> JsonObject:
        """Return the review as JSON, without what does not apply."""
        row = to_json(self)
        if self.candidate_path == self.path:
            del row["candidate_path"]
        return row


def review_from_json(document: JsonValue) -> Review:
    """Parse a stored review; an invalid one raises `ValueError`."""
    if isinstance(document, dict) and "path" in document:
        document = {"candidate_path": document["path"], **document}
    return from_json(Review, document)


def values_hash(expected: JsonValue | Missing, candidate: JsonValue | Missing) -> str:
    """Return a hash of both values of a field; a missing value is not null."""
    present: list[JsonValue] = [[value] for value in (expected, candidate) if value is not MISSING]
    return canonical_sha256([expected is not MISSING, *present])[:_DIGITS]


def current_reviews(reviews: list[Review]) -> dict[FieldKey, Review]:
    """Return the last review of each field that was not withdrawn, with its latest comment.

    A comment after a decision is added to it. A comment alone is a review without a decision.
    """
    withdrawn = {review.undoes for review in reviews if review.decision is Decision.UNDO}
    current: dict[FieldKey, Review] = {}
    for review in reviews:
        if review.decision is Decision.UNDO or review.id in withdrawn:
            continue
        before = current.get(review.field)
        if review.decision is Decision.COMMENT and before is not None:
            review = replace(before, id=review.id, comment=review.comment)  # noqa: PLW2901
        current[review.field] = review
    return current


REVIEWS: Final = "reviews.jsonl"
_MAX_BYTES: Final = 64 << 20


def read_reviews(run: Path) -> list[Review]:
    """Return all reviews of a run in order; an incomplete last line was never acknowledged."""
    return _parse(run, _complete_lines(_read_content(run)))


def append_review(run: Path, make: Callable[[Sequence[Review]], Review]) -> Review:
    """Append the review that `make` returns for the existing reviews, and write it to disk.

    Only one process at a time does so. The incomplete line of an interrupted process is removed,
    and so is a line that cannot be written completely.
    """
    if not (run / MANIFEST).is_file():
        raise ConfigError.of(f"{run} is not a run directory")
    path = run / REVIEWS
    with directory_lock(run):
        content = _read_content(run)
        lines = _complete_lines(content)
        review = make(_parse(run, lines))
        line = strict_json(review.to_dict()) + b"\n"
        try:
            review_from_json(read_document(line))
        except ValueError as error:
            raise ConfigError.of(f"the review cannot be saved: {error}") from error
        if len(lines) + len(line) > _MAX_BYTES:
            message = f"{path} would exceed the limit of {_MAX_BYTES:,} bytes"
            raise ConfigError.of(message, hint="export the corrected truth and score it")
        try:
            file = DISK.open_append(path)
            try:
                if len(lines) < len(content):
                    DISK.truncate(file, len(lines))
                try:
                    DISK.write(file, line)
                    DISK.sync(file)
                    if not content:
                        DISK.sync_directory(run)
                except OSError:
                    with suppress(OSError):
                        DISK.truncate(file, len(lines))
                    raise
            finally:
                with suppress(OSError):  # everything is on disk
                    DISK.close(file)
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}") from error
    return review


def _read_content(run: Path) -> bytes:
    try:
        return (run / REVIEWS).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        message = f"cannot read {REVIEWS}: {error.strerror}"
        raise DataError(message, Location(str(run))) from error


def _complete_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _parse(run: Path, content: bytes) -> list[Review]:
    reviews: list[Review] = []
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            reviews.append(review_from_json(read_document(line)))
        except ValueError as error:
            raise DataError(str(error), Location(str(run / REVIEWS), number)) from error
    return reviews


# --- corrected ground truth -----------------------------------------------------------------------

_NOT_COMPARED: Final = frozenset({Outcome.BOTH_EMPTY.label, Outcome.IGNORED.label})


class NewItem(NamedTuple):
    """An item that only the candidate has, by its index there, or by its key in a map."""

    candidate_index: ItemPlace


_Step: TypeAlias = "str | int | NewItem"


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthField:
    """A compared field, and where its value is or would be in the ground truth.

    `positions` are the positions of its outcomes; a text whose words are counted has several.
    """

    positions: tuple[int, ...]
    field: FieldResult
    attribute: FieldPath
    steps: tuple[_Step, ...]


class Change(NamedTuple):
    """Another value for a field of the ground truth; `MISSING` removes it."""

    field: TruthField
    value: JsonValue | Missing


def truth_fields(case: CaseResult) -> Iterator[TruthField]:
    """Yield the fields of a case that have a value on a side, each once.

    A text whose words are counted is one field.
    """
    texts: set[tuple[str, str, str]] = set()
    marks = iter(case.outcomes.items)
    upcoming = next(marks, None)
    places: dict[str, tuple[ItemPlace | None, ItemPlace | None]] = {}
    for position, field in enumerate(case.iter_fields()):
        while upcoming is not None and upcoming[0] <= position:
            _, attribute, expected, candidate, _ = upcoming
            places[attribute] = expected, candidate
            upcoming = next(marks, None)
        if field.outcome in _NOT_COMPARED:
            continue
        path = path_or_none(field.attribute)
        steps = None if path is None else _steps(path, places)
        if path is None or steps is None:
            continue
        positions: tuple[int, ...] = (position,)
        if field.comparator == Tokens.name:
            key = field.attribute, field.path, field.candidate_path
            if key in texts:
                continue
            texts.add(key)
            field, positions = _whole_text(case, field)  # noqa: PLW2901
        yield TruthField(positions=positions, field=field.finite(), attribute=path, steps=steps)


def _whole_text(case: CaseResult, word: FieldResult) -> tuple[FieldResult, tuple[int, ...]]:
    """Return the field of a text from the field of a word, and the positions of all its words."""
    words = {
        position: field.outcome
        for position, field in enumerate(case.iter_fields())
        if (field.path, field.candidate_path) == (word.path, word.candidate_path)
    }
    matched = set(words.values()) == {Outcome.MATCH.label}
    expected, candidate = case.expected, case.candidate
    whole = replace(
        word,
        expected=MISSING if expected is MISSING else resolve(expected, word.path),
        candidate=MISSING if candidate is MISSING else resolve(candidate, word.candidate_path),
        outcome=word.outcome if matched else Outcome.WRONG_VALUE.label,
        note="",
    )
    return whole, tuple(words)


def _steps(
    attribute: FieldPath, places: Mapping[str, tuple[ItemPlace | None, ItemPlace | None]]
) -> tuple[_Step, ...] | None:
    """Return the steps from the whole document to a field; `None` if they are not known."""
    steps: list[_Step] = []
    if attribute.text == ROOT:
        return ()
    for segment, start in zip(attribute.segments, attribute.starts, strict=True):
        if segment is ANY_ITEM:
            pair = places.get(attribute.text[: start + 2])
            if pair is None:
                return None
            expected, candidate = pair
            steps.append(NewItem(candidate or 0) if expected is None else _item(expected))
        elif segment is ANY_DEPTH:
            return None
        else:
            steps.append(segment)
    return tuple(steps)


def _item(index: ItemPlace) -> str | int:
    """Return the index of an item, or its key, which is written as in a path."""
    if isinstance(index, int):
        return index
    return str(parse_path(index).segments[-1])


class UnfitChangeError(ValueError):
    """A change of a field that does not fit into the structure of the ground truth."""

    def __init__(self, field: TruthField) -> None:
        super().__init__("the ground truth has another structure there")
        self.field = field


def corrected_document(
    document: JsonValue, changes: Iterable[Change], candidate: JsonValue | Missing = MISSING
) -> JsonValue:
    """Return a document with changes; a container that becomes empty is removed.

    It is not if the candidate has an empty one there. Items that only the candidate has are
    appended to their list. A change that does not fit into the document raises `UnfitChangeError`.
    """
    root: dict[str, JsonValue | Missing] = {"": copy.deepcopy(document)}
    added: dict[tuple[_Step, ...], int] = {}
    # A removed value may make place for another structure.
    for field, value in sorted(changes, key=lambda change: change.value is not MISSING):
        _change(root, field, value, added)
    corrected = _without_missing(root[""], candidate)
    if corrected is not MISSING:
        return corrected
    return [] if isinstance(document, list) else {}


def _change(
    root: dict[str, JsonValue | Missing],
    field: TruthField,
    value: JsonValue | Missing,
    added: dict[tuple[_Step, ...], int],
) -> None:
    parent: dict[str, JsonValue | Missing] | list[JsonValue | Missing] = root
    key: str | int = ""
    for number, step in enumerate(field.steps):
        inner = parent[key]  # type: ignore[index] # a key of an object or the index of a list
        kind = _container(step, inner)
        if not isinstance(inner, kind):
            if inner is not None and _without_missing(inner) is not MISSING and inner != {}:
                raise UnfitChangeError(field)
            inner = cast("JsonValue", kind())
            parent[key] = inner  # type: ignore[index]
        steps = field.steps[: number + 1]
        if isinstance(inner, dict):
            parent = cast("dict[str, JsonValue | Missing]", inner)
            tail = field.attribute.tail(number)
            if tail in inner:
                key = tail
                break
            key = str(_item(step.candidate_index) if isinstance(step, NewItem) else step)
            if isinstance(step, NewItem) and steps not in added:
                if key in inner:
                    raise UnfitChangeError(field)
                added[steps] = 0
            parent.setdefault(key, MISSING)
        else:
            parent = cast("list[JsonValue | Missing]", inner)
            if isinstance(step, NewItem):
                if steps not in added:
                    added[steps] = len(parent)
                    parent.append(MISSING)
                key = added[steps]
            elif isinstance(step, int) and step < len(parent):
                key = step
            else:
                raise UnfitChangeError(field)
    parent[key] = copy.deepcopy(value)  # type: ignore[index]


def _container(
    step: _Step, container: JsonValue | Missing
) -> type[dict[str, object] | list[object]]:
    """Return the type of the container that a step leads into; a number may be a key."""
    if isinstance(step, NewItem):
        return dict if isinstance(step.candidate_index, str) else list
    return dict if isinstance(step, str) or isinstance(container, dict) else list


def _without_missing(
    value: JsonValue | Missing, candidate: JsonValue | Missing = MISSING
) -> JsonValue | Missing:
    """Return a value without removed parts, and without containers that have only empty others."""
    if isinstance(value, dict):
        candidates = candidate if isinstance(candidate, dict) else {}
        members = {
            key: _without_missing(item, candidates.get(key, MISSING)) for key, item in value.items()
        }
        left = {key: item for key, item in members.items() if item is not MISSING}
        removed = len(left) < len(value) and not any(map(_has_value, left.values()))
        return MISSING if removed and candidate != {} else cast("JsonValue", left)
    if isinstance(value, list):
        items = [item for item in map(_without_missing, value) if item is not MISSING]
        removed = len(items) < len(value) and not any(map(_has_value, items))
        if removed and not (candidate == [] and not items):
            return MISSING
        return cast("JsonValue", items)
    return value


def _has_value(value: JsonValue | Missing) -> bool:
    """Whether a value is or contains more than null and blanks; an empty container is a value."""
    if value and isinstance(value, dict | list):
        return any(map(_has_value, value.values() if isinstance(value, dict) else value))
    return isinstance(value, dict | list) or is_present(value)
