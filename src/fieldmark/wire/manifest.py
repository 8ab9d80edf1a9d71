"""The manifest of a run: its inputs and settings, and its status."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, cast

from fieldmark.metrics.headline import HEADLINE_METRICS, QUALITY_METRICS
from fieldmark.metrics.summary import AppliedConvention, Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.json_text import strict_json
from fieldmark.wire.json_fields import FORMAT, JsonFields, check_format
from fieldmark.wire.summary import convention_from_json, convention_to_json

__all__ = [
    "GENERATED_ID",
    "Headline",
    "Manifest",
    "ManifestInput",
    "RunEntry",
    "RunStatus",
    "entry_from_json",
    "headline_of",
    "manifest_from_json",
    "manifest_to_json",
    "run_title",
    "target_change",
]


class RunStatus(StrEnum):
    """The status of a run; the files of a corrupt run cannot be read."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    CORRUPT = "corrupt"


class ManifestInput(NamedTuple):
    """An input of a run; data in memory has no hash.

    A remote file has the `version` that the server reports, which is usually its ETag.
    """

    name: str
    bytes: int | None = None
    sha256: str | None = None
    version: str | None = None

    def has_same_content(self, other: ManifestInput) -> bool | None:
        """Return whether two inputs have the same content; `None` if it is unknown."""
        for own, their in ((self.sha256, other.sha256), (self.version, other.version)):
            if own is not None and their is not None:
                return own == their
        return None


class Headline(NamedTuple):
    """What a list of runs shows, and the sizes of the files it was computed from.

    `vacuous` names the metrics with nothing behind them. `verdict` is that of the gates: `pass`,
    `fail`, or `none` without gates.
    """

    cases: int
    metrics: Mapping[str, float | None]
    vacuous: tuple[str, ...]
    verdict: str
    summary_bytes: int
    results_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What produced a run: versions, convention, providers, inputs, limits, target, options.

    `target` is the name and type of what produced the predictions during the run, and a hash of all
    that they depend on; the `options` of a model are part of it.
    `pages` is the name of the directory with the page images of its cases, without its location.
    `options` are the options for resuming the run, if it can be resumed by name alone.
    `rules` are a rules file with the rules and the convention, without models, if they were given
    as data; `rescored_from` names the run that a rescored run was computed from.
    `segment_size` is the number of cases that are written and acknowledged together. `sequence`
    orders the runs of a directory; the clock does not.
    """

    command: str
    fieldmark: str
    python: str
    convention: AppliedConvention
    eval: str = ""
    providers: tuple[JsonObject, ...] = ()
    inputs: tuple[ManifestInput, ...] = ()
    limits: JsonObject = field(default_factory=dict)
    weights: tuple[tuple[str, float, bool], ...] = ()
    evaluators: Mapping[str, str] = field(default_factory=dict)
    target: JsonObject | None = None
    pages: str = ""
    options: JsonObject | None = None
    segment_size: int = 1
    sequence: int = 0
    status: str = "running"
    started_at: str = ""
    finished_at: str = ""
    accepted_changes: tuple[str, ...] = ()
    rescored_from: JsonObject | None = None
    rules: JsonObject | None = None
    lists: JsonObject = field(default_factory=dict)
    headline: Headline | None = None

    @property
    def parent(self) -> str:
        """The name of the run that a rescored run was computed from."""
        return str((self.rescored_from or {}).get("run", ""))

    @property
    def truth(self) -> ManifestInput | None:
        """The ground truth, if it is a separate input.

        A file with both sides also changes with its predictions. The first input of an evaluation
        is the eval file.
        """
        position = 1 if self.command == "eval" else 0
        return self.inputs[position] if len(self.inputs) == position + 2 else None


GENERATED_ID: Final = re.compile(r"\d{8}T\d{12}-[0-9a-f]{32}")
"""The id of a run that was saved without `out`."""
_MAX_WEIGHT: Final = 1e300
_ENTRY_TEXTS: Final = (
    "id", "status", "started_at", "finished_at", "convention", "comparable", "note", "problem",
    "eval", "rescored_from", "verdict", "name",
)  # fmt: skip
_ENTRY_LISTS: Final = ("inputs", "vacuous", "tags")


class RunEntry(NamedTuple):
    """What a list shows of a run; `problem` says what is wrong with a corrupt run.

    `comparable` is the same for runs that can be compared: same truth, same rules, same counting.
    `eval` is the name of the evaluation, `name` the one that a person gave the run, and
    `rescored_from` the run that a rescored run was computed from. `verdict` is that of the gates,
    which is empty for a run that is not complete. Lists omit `archived` runs.
    """

    id: str
    status: str
    started_at: str = ""
    finished_at: str = ""
    convention: str = ""
    comparable: str = ""
    inputs: Sequence[str] = ()
    cases: int | None = None
    metrics: Mapping[str, float | None] | None = None
    vacuous: Sequence[str] = ()
    tags: Sequence[str] = ()
    note: str = ""
    problem: str = ""
    sequence: int = 0
    eval: str = ""
    rescored_from: str = ""
    verdict: str = ""
    name: str = ""
    archived: bool = False

    @property
    def truth(self) -> str:
        """The name of the ground truth: the first input, or the one after the eval file."""
        inputs = self.inputs[1:] or self.inputs if self.eval else self.inputs
        return inputs[0] if inputs else ""

    @property
    def title(self) -> str:
        """The name of the run for people."""
        return run_title(self.name, self.eval, self.inputs, self.id)

    def to_dict(self) -> JsonObject:
        """Return the entry as JSON."""
        entry = self._asdict()
        for name in _ENTRY_LISTS:
            entry[name] = list(getattr(self, name))
        return cast("JsonObject", entry)


def run_title(name: str, evaluation: str, inputs: Iterable[str], run: str) -> str:
    r"""Return the name of a run for people.

    It is its own, that of its evaluation, that of its directory if a person chose it, those of its
    inputs, or its id.

    >>> inputs = ["data/truth.jsonl", "C:\\data\\first\\"]
    >>> run_title("", "", inputs, "20250131T120000000000-0123456789abcdef0123456789abcdef")
    'truth.jsonl · first'
    >>> run_title("", "", inputs, "baseline")
    'baseline'
    """
    if name or evaluation or not GENERATED_ID.fullmatch(run):
        return name or evaluation or run
    # Data in memory and standard input have no name.
    named = (each for each in inputs if not each.startswith("("))
    names = (re.split(r"[\\/]", each.rstrip("\\/"))[-1] for each in named)
    return " · ".join(filter(None, names)) or run


def entry_from_json(values: JsonValue) -> RunEntry:
    """Return the entry in a list of the values of a `RunEntry`; raise `ValueError` for others."""
    names = RunEntry._fields
    if not isinstance(values, list) or len(values) != len(names):
        raise ValueError("not the values of an entry")
    fields = JsonFields(dict(zip(names, values, strict=True)))
    metrics = None
    if fields.value["metrics"] is not None:
        stored = fields.object("metrics")
        metrics = {name: stored.optional_number(name) for name in stored.value}
    inputs, vacuous, tags = map(fields.texts, _ENTRY_LISTS)
    return RunEntry(
        **{name: fields.text(name) for name in _ENTRY_TEXTS},
        inputs=inputs,
        vacuous=vacuous,
        tags=tags,
        cases=None if fields.value["cases"] is None else fields.integer("cases"),
        metrics=metrics,
        sequence=fields.integer("sequence"),
        archived=fields.boolean("archived"),
    )


def headline_of(summary: Summary, *, summary_bytes: int, results_bytes: int) -> Headline:
    """Return the headline of a finished run; safety that was not judged is unknown."""
    shown = summary.evaluated
    metrics = {name: shown.get(name) for name in (*HEADLINE_METRICS, *QUALITY_METRICS)}
    if "safety" in summary.flags:
        metrics["safety"] = None
    return Headline(
        cases=summary.cases.total,
        metrics=metrics,
        vacuous=tuple(
            name
            for name in metrics
            if any(flag.endswith("vacuous") for flag in summary.flags.get(name, ()))
        ),
        verdict=summary.verdict,
        summary_bytes=summary_bytes,
        results_bytes=results_bytes,
    )


def manifest_to_json(manifest: Manifest) -> JsonObject:
    """Return the manifest as `manifest.json` stores it, without what does not apply."""
    headline = manifest.headline
    document: dict[str, JsonValue] = {
        "format": FORMAT,
        "sequence": manifest.sequence,
        "command": manifest.command,
        "eval": manifest.eval,
        "status": manifest.status,
        "started_at": manifest.started_at,
        "finished_at": manifest.finished_at,
        "fieldmark": manifest.fieldmark,
        "python": manifest.python,
        "convention": convention_to_json(manifest.convention),
        "providers": list(manifest.providers),
        "inputs": [
            {key: value for key, value in each._asdict().items() if value is not None}
            for each in manifest.inputs
        ],
        "limits": manifest.limits,
        "weights": [list(each) for each in manifest.weights],
        "evaluators": dict(manifest.evaluators),
        "target": manifest.target,
        "pages": manifest.pages,
        "options": manifest.options,
        "segment_size": manifest.segment_size,
        "accepted_changes": list(manifest.accepted_changes),
        "rescored_from": manifest.rescored_from,
        "rules": manifest.rules,
        "headline": None
        if headline is None
        else {
            "cases": headline.cases,
            **headline.metrics,
            "verdict": headline.verdict,
            "vacuous": list(headline.vacuous),
            "bytes": [headline.summary_bytes, headline.results_bytes],
        },
        "lists": manifest.lists,
    }
    always = ("providers", "inputs")
    return {k: v for k, v in document.items() if k in always or v not in ("", None, [], {})}


def manifest_from_json(document: JsonValue) -> Manifest:
    """Parse a stored manifest; an invalid one or another format raises `ValueError`."""
    fields = JsonFields(document)
    check_format(fields.value)
    optional, json_object = fields.optional, fields.json_object
    providers: list[JsonFields] = optional(fields.array_of_objects, "providers", [])
    inputs: list[JsonFields] = optional(fields.array_of_objects, "inputs", [])
    weights: list[JsonValue] = optional(fields.array, "weights", [])
    evaluators: JsonFields = optional(fields.object, "evaluators", JsonFields({}))
    return Manifest(
        command=fields.text("command"),
        fieldmark=fields.text("fieldmark"),
        python=fields.text("python"),
        convention=convention_from_json(fields.object("convention")),
        eval=optional(fields.text, "eval", ""),
        providers=tuple(each.value for each in providers),
        inputs=tuple(
            ManifestInput(
                name=each.text("name"),
                bytes=each.optional(each.integer, "bytes", None),
                sha256=each.optional(each.text, "sha256", None),
                version=each.optional(each.text, "version", None),
            )
            for each in inputs
        ),
        limits=optional(json_object, "limits", {}),
        weights=tuple(map(_weight, weights)),
        evaluators={name: evaluators.text(name) for name in evaluators.value},
        target=optional(json_object, "target", None),
        pages=optional(fields.text, "pages", ""),
        options=optional(json_object, "options", None),
        segment_size=fields.integer("segment_size"),
        sequence=optional(fields.integer, "sequence", 0),
        status=fields.choice("status", RunStatus).value,
        started_at=optional(fields.text, "started_at", ""),
        finished_at=optional(fields.text, "finished_at", ""),
        accepted_changes=optional(fields.texts, "accepted_changes", ()),
        rescored_from=optional(json_object, "rescored_from", None),
        rules=optional(json_object, "rules", None),
        lists=optional(json_object, "lists", {}),
        headline=_headline_from_json(optional(fields.object, "headline", None)),
    )


def _headline_from_json(fields: JsonFields | None) -> Headline | None:
    if fields is None or "verdict" not in fields.value:
        # Earlier versions stored fewer metrics; they are read from the summary.
        return None
    summary_bytes, results_bytes = fields.interval("bytes")
    return Headline(
        cases=fields.integer("cases"),
        metrics={
            name: fields.optional_number(name) for name in (*HEADLINE_METRICS, *QUALITY_METRICS)
        },
        verdict=fields.text("verdict"),
        vacuous=fields.optional(fields.texts, "vacuous", ()),
        summary_bytes=int(summary_bytes),
        results_bytes=int(results_bytes),
    )


def _weight(stored: JsonValue) -> tuple[str, float, bool]:
    match stored:
        case [str(path), float() | int() as weight, bool(required)] if abs(weight) < _MAX_WEIGHT:
            return path, float(weight), required
        case _:
            raise ValueError("a weight must have a path, a number and a required flag")


def target_change(before: JsonObject | None, after: JsonObject | None) -> str:
    """Return how two targets differ, as they are stored; an empty string if they do not.

    >>> first = {"name": "gpt-a", "type": "chat", "sha256": "1", "options": {"model": "gpt-a"}}
    >>> second = {"name": "gpt-b", "type": "chat", "sha256": "2", "options": {"model": "gpt-b"}}
    >>> target_change(first, second)
    'gpt-a → gpt-b'
    >>> target_change(second, {**second, "sha256": "3", "options": {"model": "gpt-b", "seed": 1}})
    'gpt-b (seed null → 1)'
    """
    if before is None or after is None or before.get("sha256") == after.get("sha256"):
        return ""
    names = [str(each.get("name")) for each in (before, after)]
    old, new = (
        options if isinstance(options := each.get("options"), dict) else {}
        for each in (before, after)
    )
    # By default, the name of a model is that of its target.
    named = [old.get("model"), new.get("model")] == names and names[0] != names[1]
    shown = [key for key in {**old, **new} if not (named and key == "model")]
    details = [_option_change(key, old.get(key), new.get(key)) for key in shown]
    if not (old or new) and names[0] == names[1]:
        details = ["its options or files"]
    listed = ", ".join(filter(None, details))
    return f"{' → '.join(dict.fromkeys(names))}{f' ({listed})' if listed else ''}"


def _option_change(name: str, before: JsonValue, after: JsonValue) -> str:
    """Return a changed option, with its values unless they are hashes or objects."""
    if before == after:
        return ""
    if isinstance(after, dict):
        file = after.get("file")
        return f"{name} {file}" if isinstance(file, str) and file else name
    if name == "schema" or isinstance(before, dict | list) or isinstance(after, list):
        return name
    return f"{name} {_option_text(before)} → {_option_text(after)}"


def _option_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else strict_json(value).decode()
