"""Count a stored run again: the same outcomes under another counting half, without the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

from fieldmark.api.counted import CountedCase, CountedRun, RunLike, convention_of, stamp_of
from fieldmark.api.counted import stored_run as _stored
from fieldmark.api.finishing import Finishing
from fieldmark.api.gates import gates_of
from fieldmark.api.run_result import RunResult
from fieldmark.errors import ConfigError, OptionError
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.conventions import Convention, find_convention
from fieldmark.metrics.identity import canonical_sha256, described
from fieldmark.metrics.summary import AppliedConvention, EvaluatorSummary, Summary
from fieldmark.metrics.tally import CaseTotals, VerdictCounts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Scope
from fieldmark.store.reader import StoredRun
from fieldmark.store.rundir import RunFolder
from fieldmark.values.json_text import strict_json
from fieldmark.wire.summary import convention_to_json, summary_to_json

__all__ = ["rescore"]

_COMPARISON: Final = ("scope", "depth", "comparator", "aligner")
_FACTS: Final = ("attributes", "lists")
"""What is known of a run only at its end."""
_NOT_ITS_OWN: Final = frozenset(
    {"format", "status", "started_at", "finished_at", "request", "convention", *_FACTS}
)
"""What a run that was counted again does not take over from the one that it came from."""
_LINES: Final = 512


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
    stored = _stored(run)
    target = _target(stored, convention, options or {})
    gates = gates_of(at_least, at_most)
    counted = CountedRun(stored, target)
    stamp = _stamp(stored, target)
    folder = None if out is None else RunFolder(Path(out), _manifest(stored, stamp))
    with folder or nullcontext():
        lines: list[bytes] = []
        sample = None if folder is None else CaseSample(counted.table)
        for line in _rows(counted, sample):
            if folder is not None:
                lines.append(line)
                if len(lines) >= _LINES:
                    folder.append(lines)
                    lines = []
        finishing = Finishing(gates=gates)
        summary = finishing.finished(_summary(counted, stamp), sample, target)
        if folder is not None:
            folder.append(lines)
            folder.finish(summary_to_json(summary), _facts(stored))
    note = f"{stored.path.name} counted again by {stamp.name}"
    return RunResult(summary, (note,), folder.path if folder else None)


def _target(run: StoredRun, name: str | None, options: Mapping[str, JsonValue]) -> Convention:
    own = convention_of(run)
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
    used = stamp_of(run).options
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


def _rows(counted: CountedRun, sample: CaseSample | None) -> Iterator[bytes]:
    """The lines of results with their new figures, those of failed cases as they are."""
    for stored in counted.run.cases():
        case = counted.counted(stored)
        if case is None:
            counted.tally.add_failed()
            yield strict_json(stored.row) + b"\n"
        else:
            counted.add(case)
            if sample is not None:
                sample.add(case.stored.id, case.block, case.stats)
            yield strict_json({**stored.row, **_figures(case)}) + b"\n"


def _figures(case: CountedCase) -> JsonObject:
    stats = case.stats
    return {
        "score": stats.score,
        "verdict": stats.verdict,
        "status": "error" if stats.errors_count else "ok",
        "counts": dict(stats.counts._asdict()),
        "errors_by_type": dict(stats.errors._asdict()),
        "quality": dict(stats.quality._asdict()),
    }


def _summary(counted: CountedRun, stamp: AppliedConvention) -> Summary:
    """The figures of all rows, with what the old summary knows beside them."""
    old = counted.run.summary or {}
    cases, warnings, detection, usage = (
        old.get(key) for key in ("cases", "warnings", "detection", "usage")
    )
    known = cases if isinstance(cases, dict) else {}
    unread, extra = (_number(known.get(name)) for name in ("invalid_truth", "unexpected"))
    found = counted.summary(stamp)
    return replace(
        found,
        cases=found.cases + CaseTotals(total=unread, invalid_truth=unread, unexpected=extra),
        evaluators=_evaluators(old.get("evaluators")),
        detection=detection if isinstance(detection, dict) else {},
        usage=usage if isinstance(usage, dict) else {},
        warnings=tuple(map(str, warnings)) if isinstance(warnings, list) else (),
    )


def _evaluators(said: JsonValue) -> dict[str, EvaluatorSummary]:
    """What evaluators said, which does not depend on how fields are counted."""
    found: dict[str, EvaluatorSummary] = {}
    for name, each in (said if isinstance(said, dict) else {}).items():
        match each:
            case {
                "mean_score": float() | int() | None as mean,
                "scored": int(scored),
                "errors": int(errors),
                "verdicts": {"pass": int(passed), "partial": int(partial), "fail": int(failed)},
                **rest,
            }:
                figures = rest.get("figures")
                found[name] = EvaluatorSummary(
                    mean_score=mean,
                    scored=scored,
                    errors=errors,
                    verdicts=VerdictCounts(passed, partial, failed),
                    figures=figures if isinstance(figures, dict) else {},
                )
            case _:
                continue
    return found


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _stamp(run: StoredRun, target: Convention) -> AppliedConvention:
    """The stamp of the same comparison, counted otherwise."""
    old = stamp_of(run)
    counting = described(target.counting)
    return AppliedConvention(
        name=target.name,
        version=target.version,
        options={**old.options, **counting},
        comparison_sha256=old.comparison_sha256,
        counting_sha256=_counting_hash(run, old, counting),
    )


def _counting_hash(run: StoredRun, old: AppliedConvention, counting: JsonObject) -> str:
    """The hash that a run would have that was counted like this from the start.

    It takes the weights of the rules. They are known if they explain the hash that the run has;
    where they are not, the new hash is at least one of its own.
    """
    own = described(convention_of(run).counting)
    if counting == own:
        return old.counting_sha256
    listed = run.manifest.get("weights")
    for weights in (listed if isinstance(listed, list) else [], []):
        if canonical_sha256({"options": own, "weights": weights}) == old.counting_sha256:
            return canonical_sha256({"options": counting, "weights": weights})
    return canonical_sha256({"options": counting, "counted_before_as": old.counting_sha256})


def _manifest(run: StoredRun, stamp: AppliedConvention) -> JsonObject:
    old = stamp_of(run)
    kept = {key: value for key, value in run.manifest.items() if key not in _NOT_ITS_OWN}
    return {
        **kept,
        "convention": convention_to_json(stamp),
        "rescored_from": {
            "run": run.path.name,
            "convention": old.name,
            "counting_sha256": old.counting_sha256,
        },
    }


def _facts(run: StoredRun) -> JsonObject:
    return {name: run.manifest[name] for name in _FACTS if name in run.manifest}
