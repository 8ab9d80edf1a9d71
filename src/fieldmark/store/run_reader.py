"""A stored run: its manifest, its attributes, its summary, and its cases one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from fieldmark.errors import DataError, Location, OptionError
from fieldmark.metrics.conventions import Convention, CountingOptions, find_convention
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcomes import Attribute, AttributeTable
from fieldmark.store.run_folder import ATTRIBUTES, LONGEST_ROW, MANIFEST, RESULTS, SUMMARY
from fieldmark.values.json_text import read_json
from fieldmark.wire.attributes import AttributeTreeReader, StoredAttributes, is_list
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.cases import case_from_json, segment_of
from fieldmark.wire.manifest import Manifest, manifest_from_json
from fieldmark.wire.summary import summary_from_json

__all__ = ["StoredRun", "open_run", "parse_row", "read_row"]

_HINT: Final = "name the folder of a run, as `fieldmark score --out` made it"


@dataclass(frozen=True)
class StoredRun:
    """The folder of a run. What is read from it is data: nothing in it is trusted to be right."""

    path: Path
    manifest: Manifest

    @property
    def status(self) -> str:
        """Whether the run was finished: `running`, `complete`, `interrupted` or `failed`."""
        return self.manifest.status

    @cached_property
    def summary(self) -> Summary | None:
        """The summary, if the run was finished."""
        path = self.path / SUMMARY
        document = _read_document(path)
        if document is None:
            return None
        try:
            return summary_from_json(document)
        except ValueError as error:
            raise DataError(f"is not a summary: {error}", Location(str(path))) from error

    @cached_property
    def attributes(self) -> dict[int, Attribute]:
        """Every attribute by its stored number; an incomplete last line is left out."""
        path = self.path / ATTRIBUTES
        reader = AttributeTreeReader()
        for number, line in enumerate(_read_lines(path), 1):
            try:
                reader.add(read_json(line))
            except ValueError as error:
                raise DataError(
                    f"is not a line of attributes: {error}", Location(str(path), number)
                ) from error
        return reader.attributes

    @property
    def compared_attributes(self) -> list[Attribute]:
        """The attributes in the order of their paths, without the lists that were aligned."""
        compared = [each for each in self.attributes.values() if not is_list(each)]
        return sorted(compared, key=lambda each: (each.path, each.comparator, each.weight))

    @cached_property
    def convention(self) -> Convention:
        """The convention that the run was counted under."""
        applied = self.manifest.convention
        known = CountingOptions.__dataclass_fields__
        counting = {name: value for name, value in applied.options.items() if name in known}
        try:
            return find_convention(applied.name).with_options(counting)
        except OptionError as error:
            raise DataError(
                f"was counted in a way that is not known here: {error}", Location(str(self.path))
            ) from error

    def cases(self, table: AttributeTable | None = None) -> Iterator[CaseResult]:
        """Every case in order; an incomplete last line is left out.

        With a `table`, the attributes have the numbers of that table.
        """
        for _, result in self.rows(StoredAttributes(self.attributes, table)):
            yield result

    def rows(self, attributes: StoredAttributes) -> Iterator[tuple[int | None, CaseResult]]:
        """Every case, with the number of the segment that begins with it, if one does."""
        path = self.path / RESULTS
        for number, line in enumerate(_read_lines(path), 1):
            place = Location(str(path), number)
            row = parse_row(line, place)
            begun = segment_of(row)
            result = read_row(row, attributes, self.convention, place)
            yield (None if begun is None else begun[0]), result


def parse_row(line: bytes, place: Location) -> JsonObject:
    """The JSON of one line of results."""
    row = _parse(line, place)
    if not isinstance(row, dict):
        raise DataError("is not an object", place)
    return row


def read_row(
    row: JsonObject, attributes: StoredAttributes, convention: Convention, place: Location
) -> CaseResult:
    """The case of one row."""
    try:
        return case_from_json(row, attributes, convention)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"not a row of results: {error!r}", place) from error


def open_run(path: Path | str) -> StoredRun:
    """The run in a folder; what is missing or broken is an error of one line."""
    folder = Path(path)
    manifest = _read_document(folder / MANIFEST)
    if manifest is None:
        raise DataError(f"holds no run; {_HINT}", Location(str(folder)))
    try:
        return StoredRun(folder, manifest_from_json(manifest))
    except ValueError as error:
        raise DataError(str(error), Location(str(folder / MANIFEST))) from error


def _read_document(path: Path) -> JsonObject | None:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", Location(str(path))) from error
    value = _parse(content, Location(str(path)))
    if not isinstance(value, dict):
        raise DataError("is not an object", Location(str(path)))
    return value


def _read_lines(path: Path) -> Iterator[bytes]:
    """The complete lines of a file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", Location(str(path))) from error
    with file:
        while (line := file.readline(LONGEST_ROW)).endswith(b"\n"):
            yield line


def _parse(content: bytes, place: Location) -> JsonValue:
    try:
        return read_json(content)
    except ValueError as error:
        raise DataError(f"is not JSON: {error}", place) from error
