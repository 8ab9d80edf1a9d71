"""The cases of a run that is not saved, for the tables of its result."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from fieldmark.errors import StorageError, with_hint
from fieldmark.metrics.conventions import Convention
from fieldmark.model.json import MISSING
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.runs.attribute_table import NumberedAttribute, RowNumbers
from fieldmark.runs.case_result import CaseResult, with_parsed_documents
from fieldmark.runs.case_rows import CaseEncoder
from fieldmark.runs.stored_run import ResultRows
from fieldmark.values.json_text import strict_json

NOT_KEPT: Final = "the cases of the run were not kept"
SAVE_HINT: Final = "save runs with out=DIRECTORY"
_BUFFERED_BYTES: Final = 4 << 20
"""The approximate size as JSON of the results that are kept as they are; Python objects take about
eight times as much."""


class KeptCases:
    """The cases of a run, which can be read any number of times.

    The first results are kept as they are, which takes no time. If there are more of them, all are
    encoded like the rows of a saved run, in a temporary file. With `read_again`, which repeats the
    run on its input files, they are not kept at all until they are needed.
    """

    def __init__(
        self,
        table: AttributeTable,
        convention: Convention,
        *,
        values: bool,
        read_again: Callable[[], KeptCases] | None = None,
    ) -> None:
        self._table = table
        self._convention = convention
        self._values = values
        self._room = _BUFFERED_BYTES
        self._read_again = read_again
        self._buffer: list[tuple[Sequence[CaseResult], bool]] = []
        self._encoder: CaseEncoder | None = None
        self._rows: SpooledRows | None = None
        self._dropped = False
        self._problem: StorageError | None = None
        self._lock = threading.Lock()

    @property
    def is_droppable(self) -> bool:
        """Whether the cases can be read again."""
        return self._read_again is not None

    def drop(self) -> None:
        """Keep no more cases: all of them are read again when they are needed."""
        self._buffer.clear()
        self._dropped = True

    def add(self, results: Sequence[CaseResult], *, non_finite: bool) -> None:
        """Add the results of a segment; `non_finite` as for `CaseEncoder.encode`."""
        if self._dropped or self._problem is not None:
            return
        self._buffer.append((results, non_finite))
        self._room -= _size(results)
        if self._room >= 0:
            return
        if self.is_droppable:
            self.drop()
            return
        try:
            self._encode_buffer()
        except StorageError as error:  # the metrics of the run are still complete
            self._problem = error
            self._rows = None

    def cases(self) -> Iterator[CaseResult]:
        """Yield all cases in order."""
        return self.rows().cases()

    def find(self, case_id: str) -> CaseResult | None:
        """Return the case with this id, if there is one."""
        return self.rows().find(case_id)

    def rows(self) -> SpooledRows:
        """Return the rows of all cases, which are encoded or read again if necessary."""
        with self._lock:
            if self._problem is not None:
                message = with_hint(f"{NOT_KEPT}: {self._problem}", SAVE_HINT)
                raise StorageError(message) from self._problem
            if self._dropped:
                if self._read_again is None:
                    raise StorageError(with_hint(NOT_KEPT, SAVE_HINT))
                self._rows = self._read_again().rows()
                self._dropped = False
            return self._encode_buffer()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rows, unless they are large or not kept."""
        rows = None if self._dropped or self._problem is not None else self.rows()
        return (type(None), ()) if rows is None or rows.is_large else rows.__reduce__()

    def _encode_buffer(self) -> SpooledRows:
        """Encode the results that were kept as they are."""
        rows, encoder = self._rows, self._encoder
        if rows is not None and not self._buffer:
            return rows
        if rows is None or encoder is None:
            rows = SpooledRows(self._convention)
            encoder = CaseEncoder(RowNumbers(self._table), values=self._values)
        for results, non_finite in self._buffer:
            encoded = encoder.encode(0, results, non_finite=non_finite)
            rows.append(encoded, encoder.numbers.take_new())
        # If encoding is interrupted, nothing is lost or encoded twice.
        self._rows, self._encoder = rows, encoder
        self._buffer.clear()
        return rows


def _size(results: Sequence[CaseResult]) -> int:
    """Return the approximate size of documents as JSON, from the largest of three cases."""
    indexes = {0, len(results) // 2, len(results) - 1} if results else set()
    sizes = [
        sum(
            len(strict_json(document))
            for document in (case.expected, case.candidate)
            if document is not MISSING
        )
        for case in (with_parsed_documents(results[index]).case for index in indexes)
    ]
    return len(results) * max(sizes, default=0)


_MAX_IN_MEMORY: Final = 16 << 20
"""The size of rows in bytes from which they are in a file."""


class SpooledRows(ResultRows):
    """Rows that are deleted with this object; several threads can read them at once."""

    def __init__(self, convention: Convention) -> None:
        self._convention = convention
        self._attributes: dict[int, Attribute] = {}
        self._sizes: list[int] = []
        self._lock = threading.Lock()
        self._file = tempfile.SpooledTemporaryFile(max_size=_MAX_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    @property
    def attributes(self) -> dict[int, Attribute]:
        """All attributes by the numbers that rows contain."""
        return self._attributes

    @property
    def convention(self) -> Convention:
        """The convention of the run."""
        return self._convention

    @property
    def name(self) -> str:
        """The name for messages."""
        return "the rows of the run"

    @property
    def is_large(self) -> bool:
        """Whether the rows are in a file."""
        return sum(self._sizes) > _MAX_IN_MEMORY

    def __reduce__(self) -> tuple[object, ...]:
        return _filled, (self._convention, self._attributes, list(self._contents()))

    def append(self, rows: Iterable[bytes], attributes: Iterable[NumberedAttribute] = ()) -> None:
        """Append the rows of a segment, and the attributes that they use for the first time."""
        content = b"".join(rows)
        self._attributes.update(attributes)
        try:
            with self._lock:
                self._file.seek(0, os.SEEK_END)
                self._file.write(content)
        except OSError as error:
            message = f"cannot write a temporary file: {error.strerror}"
            raise StorageError(message) from error
        self._sizes.append(len(content))

    def lines(self) -> Iterator[bytes]:
        """Yield the rows, a segment at a time."""
        for content in self._contents():
            yield from content.split(b"\n")[:-1]

    def _contents(self) -> Iterator[bytes]:
        start = 0
        for size in self._sizes:
            with self._lock:
                self._file.seek(start)
                content = self._file.read(size)
            start += size
            yield content


def _filled(
    convention: Convention, attributes: dict[int, Attribute], contents: Iterable[bytes]
) -> SpooledRows:
    """Return rows that were pickled."""
    rows = SpooledRows(convention)
    for content in contents:
        rows.append([content], attributes.items())
    return rows
