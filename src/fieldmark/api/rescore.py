"""Count a stored run again: the same outcomes under another counting half, without the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from fieldmark.api.recount import RecountedRun, RunLike, stored_run
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.bootstrap import run_intervals
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.conventions import Convention, find_convention
from fieldmark.metrics.identity import canonical_sha256, described
from fieldmark.metrics.summary import AppliedConvention, Summary
from fieldmark.metrics.tally import CaseTotals
from fieldmark.model.case import CaseInput
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Scope
from fieldmark.run.gates import RunGates, parse_gates
from fieldmark.run.run_result import RunResult
from fieldmark.store.run_folder import RunFolder
from fieldmark.store.run_reader import StoredRun
from fieldmark.wire.attributes import RowNumbers
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.cases import CaseEncoder
from fieldmark.wire.manifest import Manifest

__all__ = ["rescore"]

_COMPARISON: Final = ("scope", "depth", "comparator", "aligner")


def rescore(
    run: RunLike,
    convention: str | None = None,
    *,
    options: Mapping[str, JsonValue] | None = None,
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    out: str | Path | None = None,
) -> RunResult:
    """Count the outcomes of a run again, by another convention or with other options.

    Only the counting can change. A convention that compares otherwise needs the inputs, and is
    refused. `out` names a new folder for a run with the same outcomes.

    >>> import fieldmark as fm
    >>> pairs = [({"total": 10, "vendor": "Acme"}, {"total": 11, "vendor": "Acme"})]
    >>> run = fm.score(pairs, out="run")
    >>> run.micro.fn, fm.rescore(run, options={"wrong_value": "fp"}).micro.fn
    (1, 0)
    """
    stored = stored_run(run)
    target = _target(stored, convention, options or {})
    gates = RunGates(gates=tuple(parse_gates(at_least, at_most)))
    recounted = RecountedRun(stored, target)
    applied = _applied(stored, target)
    folder = None if out is None else RunFolder(Path(out), _manifest(stored, applied))
    with folder or nullcontext():
        sample = None if folder is None else CaseSample(recounted.table)
        encoder = CaseEncoder(RowNumbers(recounted.table))
        for number, cases in enumerate(_segments(recounted, stored.manifest.segment_size)):
            for case in cases:
                if case.case.input is CaseInput.FAILED:
                    recounted.tally.add_failed()
                    continue
                recounted.add(case)
                if sample is not None:
                    sample.add(case.id, case.outcomes, case.stats)
            if folder is not None:
                folder.append(encoder.encode(number, cases), encoder.numbers.take_new())
        summary = _summary(recounted, applied)
        if sample is not None:
            intervals = run_intervals(sample, summary, target.counting)
            summary = replace(summary, intervals=intervals)
        summary = gates.checked(summary)
        if folder is not None:
            folder.finish(summary, lists=stored.manifest.lists)
    note = f"{stored.path.name} counted again by {applied.name}"
    return RunResult(summary, (note,), folder.path if folder else None)


def _target(run: StoredRun, name: str | None, options: Mapping[str, JsonValue]) -> Convention:
    own = run.convention
    try:
        wanted = own if name is None else find_convention(name)
        target = wanted.with_options(options)
    except OptionError as error:
        raise ConfigError.of(str(error)) from error
    if name is not None:
        _refuse_other_comparison(run, own, target)
    return target


def _refuse_other_comparison(run: StoredRun, own: Convention, target: Convention) -> None:
    """Refuse a convention under which the outcomes themselves would be others.

    What rules settled, they would settle there too; what was left to the convention must be the
    same in both.
    """
    used = run.manifest.convention.options
    other: list[str] = []
    for option in _COMPARISON:
        before, after = (str(getattr(each.comparison, option)) for each in (own, target))
        found = str(used.get(option))
        if option == "scope" and before == Scope.CONFIGURED and found == Scope.TRUTH:
            before = found
        if found == before != after:
            other.append(f"{option} {after}, not {found}")
    if other:
        raise ConfigError.of(
            f"{target.name} compares otherwise: {', '.join(other)}.",
            hint=f"That needs the inputs: fieldmark score ... --convention {target.name}.",
        )


def _segments(recounted: RecountedRun, size: int) -> Iterator[list[CaseResult]]:
    cases = recounted.all_cases()
    while segment := list(islice(cases, size)):
        yield segment


def _summary(recounted: RecountedRun, applied: AppliedConvention) -> Summary:
    """The figures of all rows, with what only the old summary knows."""
    found, old = recounted.summary(applied), recounted.run.summary
    if old is None:
        return found
    unread, extra = old.cases.invalid_truth, old.cases.unexpected
    return replace(
        found,
        cases=found.cases + CaseTotals(total=unread, invalid_truth=unread, unexpected=extra),
        evaluators=old.evaluators,
        detection=old.detection,
        usage=old.usage,
        warnings=old.warnings,
    )


def _applied(run: StoredRun, target: Convention) -> AppliedConvention:
    """The same comparison, counted otherwise."""
    old = run.manifest.convention
    counting = described(target.counting)
    return AppliedConvention(
        name=target.name,
        version=target.version,
        options={**old.options, **counting},
        comparison_sha256=old.comparison_sha256,
        counting_sha256=_counting_hash(run, old, counting),
    )


def _counting_hash(run: StoredRun, old: AppliedConvention, counting: JsonObject) -> str:
    """The hash that the run would have if it had been counted like this from the start.

    It covers the weights of the rules. They are known if they explain the hash that the run has;
    where they do not, the new hash is at least different from any other.
    """
    own = described(run.convention.counting)
    if counting == own:
        return old.counting_sha256
    for listed in (run.manifest.weights, ()):
        weights: list[JsonValue] = [list(each) for each in listed]
        if canonical_sha256({"options": own, "weights": weights}) == old.counting_sha256:
            return canonical_sha256({"options": counting, "weights": weights})
    return canonical_sha256({"options": counting, "counted_before_as": old.counting_sha256})


def _manifest(run: StoredRun, applied: AppliedConvention) -> Manifest:
    old = run.manifest
    return replace(
        old,
        convention=applied,
        options=None,
        started_at="",
        finished_at="",
        headline=None,
        accepted_changes=(),
        rescored_from={
            "run": run.path.name,
            "convention": old.convention.name,
            "counting_sha256": old.convention.counting_sha256,
        },
    )
