"""The review file of a run: one line per decision, only ever appended to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from fieldmark.errors import ConfigError, DataError, Location, StorageError
from fieldmark.store.disk import DISK, Disk
from fieldmark.store.lock import directory_lock
from fieldmark.store.writer import MANIFEST
from fieldmark.values.json_text import read_document, strict_json
from fieldmark.wire.review import Review, review_from_json

__all__ = ["REVIEWS", "append_review", "read_reviews"]

REVIEWS: Final = "reviews.jsonl"
_MAX_BYTES: Final = 64 << 20


def read_reviews(run: Path) -> list[Review]:
    """Return all reviews of a run in order; an incomplete last line was never acknowledged."""
    return _parse(run, _complete_lines(_read(run)))


def append_review(
    run: Path, make: Callable[[Sequence[Review]], Review], disk: Disk = DISK
) -> Review:
    """Append the review that `make` returns for those that exist, and write it to disk.

    Only one process at a time does so. What an interrupted process left of a line is removed, and
    so is a line that cannot be written completely.
    """
    if not (run / MANIFEST).is_file():
        raise ConfigError.of(f"{run} is not a run directory")
    path = run / REVIEWS
    with directory_lock(run):
        content = _read(run)
        kept = _complete_lines(content)
        review = make(_parse(run, kept))
        line = strict_json(review.to_dict()) + b"\n"
        _check_line(line)
        if len(kept) + len(line) > _MAX_BYTES:
            message = f"{path} would exceed the limit of {_MAX_BYTES:,} bytes"
            raise ConfigError.of(message, hint="export the corrected truth and score it")
        try:
            file = disk.open_append(path)
            try:
                if len(kept) < len(content):
                    disk.truncate(file, len(kept))
                try:
                    disk.write(file, line)
                    disk.sync(file)
                    if not content:
                        disk.sync_directory(run)
                except OSError:
                    with suppress(OSError):
                        disk.truncate(file, len(kept))
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
