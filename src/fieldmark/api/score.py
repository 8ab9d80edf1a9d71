"""Score two data sets: the main job."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

from fieldmark.api.faults import Faults
from fieldmark.api.gates import check_names, checked, gates_of
from fieldmark.api.lists import list_notes, list_settings
from fieldmark.api.reading import InputsLike, inputs_of
from fieldmark.api.run_result import RunResult
from fieldmark.api.settings import RulesLike, Settings, settle
from fieldmark.data import Inputs, PairStream, open_pairs
from fieldmark.metrics.gate import Gate
from fieldmark.metrics.summarise import stamp, summarise
from fieldmark.metrics.summary import Summary
from fieldmark.model.block import AttributeTable
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.plan import Plan, compile_plan
from fieldmark.run.collector import patient_collector
from fieldmark.run.flags import Flags
from fieldmark.run.pipeline import Batch, Watcher, run_cases
from fieldmark.run.unused import unused_rules
from fieldmark.store.rows import RowEncoder
from fieldmark.store.rundir import RunFolder
from fieldmark.version import VERSION

__all__ = ["Progress", "Source", "score"]

Source: TypeAlias = "str | Path | Iterable[object]"
Progress: TypeAlias = Callable[[int, int, int | None], None]
"""Is told, now and then, the cases done, the bytes read, and all bytes if that is known."""


def score(  # noqa: PLR0913 - one argument for each thing that a caller can ask for
    truth: Source,
    candidate: Source | None = None,
    *,
    rules: RulesLike = None,
    convention: str = "confusion",
    options: Mapping[str, JsonValue] | None = None,
    match: str | None = None,
    align: str | None = None,
    scope: str | None = None,
    depth: str | None = None,
    inputs: InputsLike = None,
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    out: str | Path | None = None,
    values: bool = True,
    progress: Progress | None = None,
) -> RunResult:
    """Compare two data sets and count every field.

    `truth` and `candidate` are files, folders, or iterables of documents; with `candidate` left
    out, rows hold both sides. `out` names a new folder for the run's results.

    >>> import fieldmark as fm
    >>> truth = [{"id": "a", "total": 1}, {"id": "b", "total": 2}]
    >>> found = [{"id": "b", "total": 2}, {"id": "a", "total": 3}]
    >>> fm.score(truth, found).attributes["total"].f1
    0.5
    """
    settings = settle(
        rules,
        convention=convention,
        options=options,
        match=match,
        align=align,
        scope=scope,
        depth=depth,
    )
    gates = gates_of(at_least, at_most)
    check_names(gates, settings)
    reading = inputs_of(inputs)
    stream = open_pairs(truth, candidate, reading, quotes=values)
    folder = RunFolder(Path(out), _manifest(settings, reading, truth, candidate)) if out else None
    plan = compile_plan(settings.rules)
    with closing(stream), folder or nullcontext(), patient_collector():
        summary = _run(stream, plan, settings, gates, folder, values=values, progress=progress)
        if folder is not None:
            facts = {"attributes": _described(plan.table), "lists": list_settings(plan.lists())}
            folder.finish(summary.to_dict(), facts)
    notes = (*stream.notes, *list_notes(plan.lists()))
    return RunResult(summary, notes, folder.path if folder else None)


def _run(  # noqa: PLR0913 - what a run is made of
    stream: PairStream,
    plan: Plan,
    settings: Settings,
    gates: Sequence[Gate],
    folder: RunFolder | None,
    *,
    values: bool,
    progress: Progress | None,
) -> Summary:
    flags, faults = Flags(), Faults(plan.table, notes=values)
    watchers: list[Watcher] = [flags, faults]
    if folder is not None:
        watchers.append(_writer(folder, RowEncoder(plan.table, values=values), stream))
    if progress is not None:
        watchers.append(_teller(progress, stream))
    tally = run_cases(faults.watching(stream.batches()), plan, settings.convention, watchers)
    tally.add_unexpected(stream.coverage.unexpected)
    warnings = (
        *settings.warnings,
        *faults.warnings(),
        *stream.warnings,
        *flags.warnings(),
        *unused_rules(settings.rules, tally.facts()),
    )
    summary = summarise(tally, settings.convention, rules=settings.rules, warnings=warnings)
    return checked(summary, gates)


def _writer(folder: RunFolder, encoder: RowEncoder, stream: PairStream) -> Watcher:
    def write(batch: Batch) -> None:
        encoder.non_finite = stream.non_finite
        folder.append(map(encoder.encode, *batch))

    return write


def _teller(progress: Progress, stream: PairStream) -> Watcher:
    done = 0

    def tell(batch: Batch) -> None:
        nonlocal done
        done += len(batch.cases)
        progress(done, stream.bytes_read, stream.bytes_total)

    return tell


def _manifest(settings: Settings, reading: Inputs, *sources: Source | None) -> JsonObject:
    return {
        "fieldmark": VERSION,
        "python": platform.python_version(),
        "convention": stamp(settings.convention, settings.rules).to_dict(),
        "inputs": [_input(source) for source in sources if source is not None],
        "limits": asdict(reading.limits),
    }


def _input(source: Source) -> JsonObject:
    """Which input it was, and its hash if it is a file."""
    if not isinstance(source, str | Path):
        return {"name": "(in memory)"}
    path = Path(source)
    if not path.is_file():
        return {"name": str(source)}
    with path.open("rb") as file:
        return {
            "name": str(source),
            "bytes": path.stat().st_size,
            "sha256": hashlib.file_digest(file, "sha256").hexdigest(),
        }


def _described(table: AttributeTable) -> JsonValue:
    return [
        {"path": a.path, "comparator": a.comparator, "weight": a.weight, "required": a.required}
        for a in table.attributes
    ]
