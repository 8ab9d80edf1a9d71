"""Reviews: the decision of a person about one field of a run, and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.metrics.identity import canonical_sha256
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.runs.disk import DISK, Disk
from fieldmark.runs.lock import directory_lock
from fieldmark.runs.run_directory import MANIFEST
from fieldmark.values.json_text import read_document, strict_json
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
    for each in reviews:
        if each.decision is Decision.UNDO or each.id in withdrawn:
            continue
        before = current.get(each.field)
        if each.decision is Decision.COMMENT and before is not None:
            each = replace(before, id=each.id, comment=each.comment)  # noqa: PLW2901
        current[each.field] = each
    return current


REVIEWS: Final = "reviews.jsonl"
_MAX_BYTES: Final = 64 << 20


def read_reviews(run: Path) -> list[Review]:
    """Return all reviews of a run in order; an incomplete last line was never acknowledged."""
    return _parse(run, _complete_lines(_read(run)))


def append_review(
    run: Path, make: Callable[[Sequence[Review]], Review], disk: Disk = DISK
) -> Review:
    """Append the review that `make` returns for the existing reviews, and write it to disk.

    Only one process at a time does so. The incomplete line of an interrupted process is removed,
    and so is a line that cannot be written completely.
    """
    if not (run / MANIFEST).is_file():
        raise ConfigError.of(f"{run} is not a run directory")
    path = run / REVIEWS
    with directory_lock(run):
        content = _read(run)
        lines = _complete_lines(content)
        review = make(_parse(run, lines))
        line = strict_json(review.to_dict()) + b"\n"
        _check_line(line)
        if len(lines) + len(line) > _MAX_BYTES:
            message = f"{path} would exceed the limit of {_MAX_BYTES:,} bytes"
            raise ConfigError.of(message, hint="export the corrected truth and score it")
        try:
            file = disk.open_append(path)
            try:
                if len(lines) < len(content):
                    disk.truncate(file, len(lines))
                try:
                    disk.write(file, line)
                    disk.sync(file)
                    if not content:
                        disk.sync_directory(run)
                except OSError:
                    with suppress(OSError):
                        disk.truncate(file, len(lines))
                    raise
            finally:
                with suppress(OSError):  # everything is on disk
                    disk.close(file)
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}") from error
    return review


def _read(run: Path) -> bytes:
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


def _check_line(line: bytes) -> None:
    """Raise an error for a value that could not be read again."""
    try:
        review_from_json(read_document(line))
    except ValueError as error:
        raise ConfigError.of(f"the review cannot be saved: {error}") from error
