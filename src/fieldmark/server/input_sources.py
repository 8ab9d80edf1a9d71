"""What a run of the server says that it was made from: what people named, never our copies.

A batch is read from copies that go with its job. Where both sides are files below a root, the run
can go on from them; rows and texts of a request are nowhere else, so such a run cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.store.durable import write_whole
from fieldmark.store.reader import open_run
from fieldmark.store.rundir import MANIFEST
from fieldmark.values.json_text import pretty_json

__all__ = ["InputSource", "record_input_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSource:
    """One side of a batch: its name for people, our copy, and where it is if it is a file."""

    name: str
    copy: Path
    file: str | None = None


def record_input_sources(run: Path, origins: Sequence[InputSource]) -> None:
    """Put the names of the sides into the manifest of a run, if there is one yet."""
    try:
        manifest = open_run(run).manifest
        told = {**manifest, "inputs": _inputs(manifest.get("inputs"), origins)}
        told["request"] = _request(manifest.get("request"), origins)
        write_whole(run / MANIFEST, pretty_json(told))
    except FieldmarkError:
        # The run says where its copies were, which is all that is lost.
        return


def _inputs(error_body: JsonValue, origins: Sequence[InputSource]) -> JsonValue:
    names = {str(each.copy): each.name for each in origins}
    if not isinstance(error_body, list):
        return error_body
    return [
        {**each, "name": names.get(str(each.get("name")), each.get("name"))}
        if isinstance(each, dict)
        else each
        for each in error_body
    ]


def _request(asked: JsonValue, origins: Sequence[InputSource]) -> JsonObject | None:
    """What can be asked for again; nothing if a side was in the request alone."""
    files = [each.file for each in origins]
    if not isinstance(asked, dict) or None in files:
        return None
    truth, *candidate = files
    return {**asked, "truth": truth, "candidate": candidate[0] if candidate else None}
