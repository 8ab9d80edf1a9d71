"""Resuming an interrupted run after checking that its inputs and options are unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from sys import maxsize
from typing import Final, cast

from fieldmark.data.input_files import is_url, redacted_url
from fieldmark.errors import ConfigError, DataError, Location
from fieldmark.model.case import Case, CaseContext
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.kernel import parsed
from fieldmark.plan import Plan
from fieldmark.runs.attribute_table import StoredAttributes
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.manifest import Manifest, ManifestInput, target_change
from fieldmark.runs.run_directory import RunDirectory
from fieldmark.runs.run_options import RunOptions
from fieldmark.runs.stored_run import StoredRun, open_run

_SAME: Final = (
    "command", "convention", "providers", "inputs", "evaluators", "target", "limits", "eval",
    "options", "fieldmark",
)  # fmt: skip
"""The parts of the manifest that must be unchanged."""
_NOT_COMPARED: Final = frozenset({"max_errors", "truth", "candidate", "file"})
"""Options that may differ: inputs are compared by their content."""


def open_run_directory(options: RunOptions, manifest: Manifest) -> RunDirectory:
    """Return the directory of a new or resumed run.

    A resumed run must have the same inputs, rules and versions. With `accept_changes` it is resumed
    anyway, and the manifest records the differences.
    """
    out = options["out"]
    if out is None:
        raise ConfigError.of("resume: out is required", hint="set it to the directory of the run")
    if not options["resume"]:
        return new_run_directory(out, manifest)
    name, copy, path = out, None, Path(out)
    if is_url(out):
        from fieldmark.runs.remote_runs import RunUpload

        name, copy = redacted_url(out), RunUpload(out, resume=True)
        path = copy.path

    stored = open_run(path)
    if stored.status == "complete":
        hint = "start a new run in another directory"
        raise ConfigError.of(f"{name} is already complete", hint=hint)
    changed = _changed_parts(stored.manifest, manifest)
    if changed and not options["accept_changes"]:
        raise ConfigError.of(
            f"{name} was started with different settings or files: "
            f"{_named_changes(stored.manifest, manifest, changed)}",
            hint="restore them, start a new run, or resume with --accept-changes",
        )
    resumed = replace(stored.manifest, accepted_changes=tuple(changed))
    return RunDirectory(path, resumed, stored=list(stored.attributes.items()), copy=copy)


def open_retry_directory(
    options: RunOptions, manifest: Manifest, retried: StoredRun
) -> RunDirectory:
    """Return the directory of a new run that repeats the failed cases of a complete run.

    It must have the same inputs, rules and versions; inputs may have moved.
    """
    out = options["out"]
    if out is None:
        raise ConfigError.of("out is required", hint="set it to the directory of the new run")
    before = retried.manifest
    changed = _changed_parts(before, manifest)
    if changed:
        raise ConfigError.of(
            f"{retried.path} was made with different settings or files: "
            f"{_named_changes(before, manifest, changed)}",
            hint="restore them, or start a new run",
        )
    parent: JsonObject = {"run": retried.path.name, "retried_cases": True}
    same_segments = replace(
        manifest, rescored_from=parent, segment_size=retried.manifest.segment_size
    )
    return new_run_directory(out, same_segments)


def _changed_parts(before: Manifest, after: Manifest) -> list[str]:
    """Return the names of the parts of the manifest that differ."""
    return [
        "request" if key == "options" else key
        for key in _SAME
        if _comparable(getattr(before, key)) != _comparable(getattr(after, key))
    ]


def _named_changes(before: Manifest, after: Manifest, changed: Sequence[str]) -> str:
    """Return what differs for people, with the names of inputs."""
    how = target_change(before.target, after.target)
    named_target = f"target {how}" if how else "target"
    names = [named_target if name == "target" else name for name in changed if name != "inputs"]
    if "inputs" in changed:
        old = {source.name: source for source in before.inputs}
        new = {source.name: source for source in after.inputs}
        names += [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(names)


def new_run_directory(out: str | Path, manifest: Manifest) -> RunDirectory:
    """Return the directory of a new run; a run at a URL has a local one and is uploaded."""
    if not is_url(out):
        return RunDirectory(Path(out), manifest)
    from fieldmark.runs.remote_runs import RunUpload

    copy = RunUpload(out, resume=False)
    return RunDirectory(copy.path, manifest, copy=copy)


def run_directories(
    parent: str | Path, names: Sequence[str], unnamed: str = "run"
) -> list[str | Path]:
    """Return a directory or URL below another for each run; names that are used again are numbered.

    >>> [path.name for path in run_directories(Path("runs"), ["gpt 4", "gpt/4", "..."])]
    ['gpt-4', 'gpt-4-2', 'run']
    """
    uses: Counter[str] = Counter()
    directories: list[str | Path] = []
    for shown in names:
        plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in shown)
        name = plain.lstrip(".") or unnamed
        uses[name] += 1
        name = name if uses[name] == 1 else f"{name}-{uses[name]}"
        directories.append(
            f"{str(parent).rstrip('/')}/{name}" if is_url(parent) else Path(parent) / name
        )
    return directories


def _comparable(value: object) -> object:
    """Return inputs without names, and options without inputs and the limit on errors.

    A file can have many paths, and the limit is applied when the run is finished.
    """
    if isinstance(value, dict):
        return {key: option for key, option in value.items() if key not in _NOT_COMPARED}
    if not isinstance(value, tuple):
        return value
    return [
        item._replace(name="") if isinstance(item, ManifestInput) and item.sha256 else item
        for item in value
    ]


class StoredResults:
    """The results of the first `segments` of a run that have been written, all by default.

    They were compared by `plan`, or by the plan of their case in `own_plans`. With `when_used`,
    attributes are added to the table of the plan when a restored case has them.
    """

    __slots__ = ("_held", "_own_plans", "_plan", "_rows", "_run", "attributes", "segments")

    def __init__(
        self,
        run: StoredRun,
        plan: Plan,
        own_plans: Mapping[str, Plan],
        *,
        segments: int = maxsize,
        when_used: bool = False,
    ) -> None:
        self._plan = plan
        self._own_plans = own_plans
        self._run = run
        self.attributes = StoredAttributes(run.attributes, plan.table, when_used=when_used)
        self.segments = segments
        self._rows = run.rows(self.attributes)
        self._held: tuple[int | None, CaseResult] | None = None

    def restore(self, segment: int, cases: Sequence[Case]) -> list[CaseResult] | None:
        """Return the results of a segment, one per case, or `None` if it was not written."""
        if segment >= self.segments:
            return None
        results: list[CaseResult] = []
        row = self._held or next(self._rows, None)
        self._held = None
        while row is not None:
            started, result = row
            if started is not None and started > segment:
                self._held = row
                break
            results.append(result)
            row = next(self._rows, None)
        for case, result in zip(cases, results, strict=False):
            if case.id != result.id:
                raise self._changed(f"case {case.id!r} instead of {result.id!r}")
        if len(results) != len(cases):
            raise self._changed(f"segment with {len(cases)} cases instead of {len(results)}")
        for result, case in zip(results, cases, strict=True):
            plan = self._own_plans.get(result.id, self._plan)
            paths = {mark[1] for mark in result.outcomes.items}
            expected = parsed(case.expected) if paths else None
            for path in paths:
                plan.add_list(path, cast("JsonValue", expected))
        return [_with_input(*pair) for pair in zip(results, cases, strict=True)]

    def _changed(self, how: str) -> DataError:
        message = f"the inputs have changed since the run was started: {how}"
        return DataError(message, Location(str(self._run.path)))


def _with_input(result: CaseResult, case: Case) -> CaseResult:
    """Return a stored result with the documents of its case, which may not be stored."""
    stored = result.case
    candidate = stored.candidate if result.has_values else case.candidate
    case = case._replace(candidate=candidate, input=stored.input, note=stored.note)
    if stored.parsed_from:
        case = case._replace(parsed_from=stored.parsed_from)
    if stored.context is not None and stored.context.usage is not None:
        context = (case.context or CaseContext())._replace(usage=stored.context.usage)
        case = case._replace(context=context)
    return replace(result, case=case, has_values=True)
