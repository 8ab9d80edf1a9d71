"""What differs between two runs that are to be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Final

from fieldmark.metrics.conventions import CountingOptions
from fieldmark.metrics.summary import AppliedConvention
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.runs.manifest import target_change
from fieldmark.runs.stored_run import StoredRun

_COUNTING: Final = frozenset(each.name for each in fields(CountingOptions))


def obstacles(before: StoredRun, after: StoredRun, *, rescore: bool) -> Iterator[tuple[str, str]]:
    """Yield what differs between two runs that cannot be compared, each with a description."""
    for run in (before, after):
        if run.status != "complete":
            yield "status", f"{run.path} is not complete (status: {run.status})"
    old, new = before.manifest.convention, after.manifest.convention
    other_rules = old.comparison_sha256 != new.comparison_sha256
    if other_rules:
        yield "rules", f"the runs have different rules{_listed(_options(old, new, rules=True))}"
    if old.counting_sha256 != new.counting_sha256 and not rescore:
        counted = [*_names(old, new), *_options(old, new, rules=False)]
        if counted:
            yield "conventions", f"the runs have different conventions{_listed(counted)}"
        elif not other_rules:  # weights are a part of the rules
            yield "weights", f"the runs have different weights{_listed(_weights(before, after))}"
    if has_same_truth(before, after) is False:
        yield "ground truth", "the runs have different ground truth"
    if evaluator_names(before) != evaluator_names(after):
        yield "evaluators", "the runs have different evaluators"


def has_same_truth(before: StoredRun, after: StoredRun) -> bool | None:
    """Whether both runs read the same ground truth; `None` if hashes cannot tell."""
    old, new = before.manifest.truth, after.manifest.truth
    if old is None or new is None:
        return None
    return old.has_same_content(new)


def _listed(differences: Iterable[str]) -> str:
    """Return known differences as the end of a sentence."""
    text = ", ".join(differences)
    return f": {text}" if text else ""


def _names(old: AppliedConvention, new: AppliedConvention) -> Iterator[str]:
    for label, name in (("convention", "name"), ("version", "version")):
        if getattr(old, name) != getattr(new, name):
            yield f"{label} {getattr(old, name)} vs. {getattr(new, name)}"


def _options(old: AppliedConvention, new: AppliedConvention, *, rules: bool) -> Iterator[str]:
    """Yield the options that differ: options of the rules, or of counting."""
    for name in {**old.options, **new.options}:
        if (name not in _COUNTING) is rules and old.options.get(name) != new.options.get(name):
            sides = (_option_text(each.options.get(name)) for each in (old, new))
            yield f"{name} {' vs. '.join(sides)}"


def _weights(before: StoredRun, after: StoredRun) -> Iterator[str]:
    old, new = (
        {path: (weight, required) for path, weight, required in run.manifest.weights}
        for run in (before, after)
    )
    for path in (path for path in old if path in new):
        for label, one, other in zip(("weight", "required"), old[path], new[path], strict=True):
            if one != other:
                yield f"{label} of {path} {_option_text(one)} vs. {_option_text(other)}"


def _option_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def structural_warnings(
    before: StoredRun, after: StoredRun, titles: Sequence[str]
) -> Iterator[str]:
    """Yield the warnings that documents of the runs do not have the same structure."""
    old, new = (
        () if run.summary is None else run.summary.structural_warnings for run in (before, after)
    )
    for text in dict.fromkeys([*old, *new]):
        name = titles[0] if text in old else titles[1]
        yield f"{'both runs' if text in old and text in new else name}: {text}"


def target_changes(before: StoredRun, after: StoredRun) -> Iterator[str]:
    """Yield how the target changed, also if another model is served under the same name."""
    old, new = before.manifest.target, after.manifest.target
    if change := target_change(old, new):
        yield change
    served = [_served_models(before), _served_models(after)]
    for name in served[0]:
        models = [", ".join(each.get(name, ())) for each in served]
        if all(models) and models[0] != models[1]:
            yield f"{name} is served by {models[0]} → {models[1]}"


def _served_models(run: StoredRun) -> dict[str, list[str]]:
    """Return the models that produced predictions, by the name under which they were requested."""
    target = run.manifest.target
    asked = {} if run.summary is None else run.summary.usage.get("asked")
    found: dict[str, list[str]] = {}
    for each in asked if isinstance(asked, list) else []:
        if target is None or not isinstance(each, dict) or each.get("name") != target.get("type"):
            continue
        models = each.get("models")
        found[str(each.get("model"))] = sorted(map(str, models if isinstance(models, list) else []))
    return found


def reading_notes(before: StoredRun, after: StoredRun) -> Iterator[str]:
    """Yield a note on the options for reading rows that differ, if both are known."""
    old, new = _inputs(before), _inputs(after)
    if differences := [
        f"{name} {_key_text(old[name])} vs. {_key_text(new[name])}"
        for name in old
        if name in new and old[name] != new[name]
    ]:
        yield f"the runs read rows differently{_listed(differences)}"


def _inputs(run: StoredRun) -> JsonObject:
    inputs = (run.manifest.options or {}).get("inputs")
    return inputs if isinstance(inputs, dict) else {}


def _key_text(value: JsonValue) -> str:
    return "detected" if value is None else repr(value)


def evaluator_names(run: StoredRun) -> list[str]:
    """Return the names of the evaluators of a run."""
    return [] if run.summary is None else list(run.summary.evaluators)
