"""Reading a saved run: its manifest, attributes, summary and cases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from fieldmark.errors import DataError, Location, OptionError
from fieldmark.metrics.conventions import Convention, CountingOptions, find_convention
from fieldmark.metrics.summary import Summary, summary_from_json
from fieldmark.model.json import JsonObject
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.runs.attribute_table import AttributeTreeReader, StoredAttributes, is_list
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.case_rows import PLAIN_START, CaseDecoder, case_from_json, segment_of
from fieldmark.runs.manifest import Manifest, RunStatus
from fieldmark.runs.run_directory import ATTRIBUTES, LONGEST_ROW, MANIFEST, RESULTS, SUMMARY
from fieldmark.values.json_text import read_document, read_json, strict_json
from fieldmark.values.records import from_json

_BUFFER: Final = 1 << 18


class ResultRows(ABC):
    """Rows of results, and the tables to decode them."""

    @property
    @abstractmethod
    def attributes(self) -> Mapping[int, Attribute]:
        """All attributes by stored number."""

    @property
    @abstractmethod
    def convention(self) -> Convention:
        """The convention of the run."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the file with the rows."""

    @abstractmethod
    def lines(self) -> Iterator[bytes]:
        """Yield the complete lines in order."""

    def cases(self, table: AttributeTable | None = None) -> Iterator[CaseResult]:
        """Yield all cases in order.

        With a `table`, the attributes have the numbers of that table.
        """
        for _, result in self.rows(StoredAttributes(self.attributes, table)):
            yield result

    def rows(
        self,
        attributes: StoredAttributes,
        *,
        unparsed: bool = False,
        prepare: Callable[[CaseResult], CaseResult] | None = None,
    ) -> Iterator[tuple[int | None, CaseResult]]:
        """Yield all cases, each with a segment number if it is the first case of a segment.

        `unparsed` allows that `Case.unparsed` contains the documents. `prepare` is applied to every
        result, but only once to results that differ only in ids and documents.
        """
        name, convention = self.name, self.convention
        decoder = CaseDecoder(attributes, convention, unparsed=unparsed, prepare=prepare)
        for number, line in enumerate(self.lines(), 1):
            decoded = decoder.decode(line)
            if decoded is None:
                location = Location(name, number)
                row = parse_row(line, location)
                segment = segment_of(row)
                result = read_row(row, attributes, convention, location)
                result = result if prepare is None else prepare(result)
                decoded = None if segment is None else segment[0], result
            yield decoded

    def numbered(
        self, numbers: Container[int] | None = None
    ) -> Iterator[tuple[int, int, CaseResult]]:
        """Yield the number, the bytes read and the case, of all cases or of some numbers."""
        attributes, size = StoredAttributes(self.attributes), 0
        for number, line in enumerate(self.lines(), 1):
            size += len(line)
            if numbers is None or number in numbers:
                location = Location(self.name, number)
                row = parse_row(line, location)
                yield number, size, read_row(row, attributes, self.convention, location)

    def find(self, case_id: str) -> CaseResult | None:
        """Return the first case with this id; rows of other cases are not parsed."""
        return next(self.find_all([case_id]), None)

    def find_all(self, case_ids: Collection[str]) -> Iterator[CaseResult]:
        """Yield the cases with these ids; rows of other cases are not parsed."""
        attributes = StoredAttributes(self.attributes)
        wanted = {strict_json(case_id)[1:-1] for case_id in case_ids}
        for number, line in enumerate(self.lines(), 1):
            plain = PLAIN_START.match(line)
            if plain is None or plain[1] in wanted:
                location = Location(self.name, number)
                case = read_row(parse_row(line, location), attributes, self.convention, location)
                if case.id in case_ids:
                    yield case


@dataclass(frozen=True)
class StoredRun(ResultRows):
    """A saved run; nothing read from its directory is trusted."""

    path: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """The name of the file with the rows."""
        return str(self.path / RESULTS)

    @property
    def status(self) -> RunStatus:
        """The status of the run: `running`, `complete`, `interrupted` or `failed`."""
        return self.manifest.status

    @cached_property
    def summary(self) -> Summary | None:
        """The summary, if the run is complete."""
        path = self.path / SUMMARY
        document = _read_document(path)
        if document is None:
            return None
        try:
            return summary_from_json(document)
        except ValueError as error:
            raise DataError(f"invalid summary: {error}", Location(str(path))) from error

    @property
    def complete_summary(self) -> Summary:
        """The summary; an incomplete run is an error."""
        if self.summary is None:
            message = f"the run is {self.status} and has no summary; resume it to finish it"
            raise DataError(message, Location(str(self.path)))
        return self.summary

    @cached_property
    def attributes(self) -> dict[int, Attribute]:
        """All attributes by stored number, without an incomplete last line."""
        path = self.path / ATTRIBUTES
        reader = AttributeTreeReader()
        for number, line in enumerate(_read_lines(path), 1):
            try:
                reader.add(read_json(line))
            except ValueError as error:
                raise DataError(
                    f"invalid attribute: {error}", Location(str(path), number)
                ) from error
        return reader.attributes

    @property
    def compared_attributes(self) -> list[Attribute]:
        """The attributes sorted by path, without aligned lists."""
        compared = [attribute for attribute in self.attributes.values() if not is_list(attribute)]
        return sorted(
            compared, key=lambda attribute: (attribute.path, attribute.comparator, attribute.weight)
        )

    @cached_property
    def convention(self) -> Convention:
        """The convention of the run."""
        applied = self.manifest.convention
        known = CountingOptions.__dataclass_fields__
        counting = {name: value for name, value in applied.options.items() if name in known}
        try:
            return find_convention(applied.name).with_options(counting)
        except OptionError as error:
            raise DataError(f"unsupported convention: {error}", Location(str(self.path))) from error

    @property
    def results_bytes(self) -> int:
        """The size of the rows."""
        path = self.path / RESULTS
        return path.stat().st_size if path.exists() else 0

    def lines(self) -> Iterator[bytes]:
        """Yield the rows, without an incomplete last line."""
        return _read_lines(self.path / RESULTS)


def parse_row(line: bytes, location: Location) -> JsonObject:
    """Parse one line of the results as a JSON object."""
    try:
        row = read_json(line)
    except ValueError as error:
        raise DataError(f"invalid JSON: {error}", location) from error
    if not isinstance(row, dict):
        raise DataError("expected a JSON object", location)
    return row


def read_row(
    row: JsonObject, attributes: StoredAttributes, convention: Convention, location: Location
) -> CaseResult:
    """Return the case in a row."""
    try:
        return case_from_json(row, attributes, convention)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"invalid row: {error!r}", location) from error


def is_older(run: StoredRun, other: StoredRun) -> bool:
    """Return whether a run was started before another.

    In the same directory, their sequence numbers decide, otherwise the clock.
    """
    parents = {path.path.resolve().parent for path in (run, other)}
    first, second = (
        (path.manifest.sequence if len(parents) == 1 else 0, path.manifest.started_at)
        for path in (run, other)
    )
    return first < second


def open_run(path: Path | str) -> StoredRun:
    """Open the run in a directory."""
    directory = Path(path)
    manifest = _read_document(directory / MANIFEST)
    if manifest is None:
        reason = (
            f"not a run directory; it has no {MANIFEST}" if directory.exists() else "run not found"
        )
        raise DataError(reason, Location(str(directory)))
    try:
        return StoredRun(directory, from_json(Manifest, manifest))
    except ValueError as error:
        raise DataError(str(error), Location(str(directory / MANIFEST))) from error


def _read_document(path: Path) -> JsonObject | None:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DataError(f"cannot read file: {error.strerror}", Location(str(path))) from error
    try:
        return read_document(content)
    except ValueError as error:
        raise DataError(str(error), Location(str(path))) from error


def _read_lines(path: Path) -> Iterator[bytes]:
    """Yield the complete lines of a file."""
    try:
        file = path.open("rb", buffering=_BUFFER)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"cannot read file: {error.strerror}", Location(str(path))) from error
    with file:
        while (line := file.readline(LONGEST_ROW)).endswith(b"\n"):
            yield line
