"""The manifest of a run: its inputs and settings, and its status."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Final, NamedTuple

from fieldmark.data.input_files import is_url, open_file
from fieldmark.data.inputs import InputLike
from fieldmark.metrics.conventions import rule_weights
from fieldmark.metrics.headline import HEADLINE_METRICS, QUALITY_METRICS
from fieldmark.metrics.summary import AppliedConvention, Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.reader import ReadExport
from fieldmark.runs.provider_set import ProviderSet
from fieldmark.runs.settings import Settings
from fieldmark.values.json_text import Limits, strict_json
from fieldmark.values.records import OMIT_DEFAULT, OPTIONAL, Inline, Key, to_json
from fieldmark.version import RUN_FORMAT, VERSION


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
    bytes: Annotated[int | None, OMIT_DEFAULT] = None
    sha256: Annotated[str | None, OMIT_DEFAULT] = None
    version: Annotated[str | None, OMIT_DEFAULT] = None

    def has_same_content(self, other: ManifestInput) -> bool | None:
        """Return whether two inputs have the same content; `None` if it is unknown."""
        for own, their in ((self.sha256, other.sha256), (self.version, other.version)):
            if own is not None and their is not None:
                return own == their
        return None


_METRICS: Final = (*HEADLINE_METRICS, *QUALITY_METRICS)


class Headline(NamedTuple):
    """The data of a run in a list, and the files that they were computed from.

    `errors` is the number of cases with errors. `vacuous` names the metrics with nothing behind
    them. `verdict` is the result of the gates: `pass`, `fail`, and without gates `error` if the run
    did not pass, and else `none`; earlier versions stored none. `sizes` are the sizes of
    the summary and the results.
    """

    cases: int
    metrics: Annotated[Mapping[str, float | None], Inline(_METRICS.__contains__)]
    errors: Annotated[int, OPTIONAL] = 0
    verdict: Annotated[str, OPTIONAL] = ""
    vacuous: Annotated[tuple[str, ...], OPTIONAL] = ()
    sizes: Annotated[tuple[int, int], Key("bytes"), OPTIONAL] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What produced a run: versions, convention, providers, inputs, limits, target, options.

    `target` is the name and type of what produced the predictions during the run, and a hash of all
    that they depend on; the `options` of a model are part of it.
    `pages` is the name of the directory with the page images of its cases, without its location.
    `options` are the options for resuming the run, if it can be resumed by name alone.
    `exports` are the exports of tools that were read, and what was left out of each.
    `rules` are a rules file with the rules and the convention, without models, if they were given
    as data; `rescored_from` names the run that a rescored run was computed from.
    `segment_size` is the number of cases that are written and acknowledged together. `sequence`
    orders the runs of a directory; the clock does not.
    """

    FORMAT: ClassVar[int] = RUN_FORMAT

    sequence: Annotated[int, OPTIONAL] = 0
    command: str
    eval: Annotated[str, OMIT_DEFAULT] = ""
    status: RunStatus = RunStatus.RUNNING
    started_at: Annotated[str, OMIT_DEFAULT] = ""
    finished_at: Annotated[str, OMIT_DEFAULT] = ""
    fieldmark: str
    python: str
    convention: AppliedConvention
    providers: Annotated[tuple[JsonObject, ...], OPTIONAL] = ()
    inputs: Annotated[tuple[ManifestInput, ...], OPTIONAL] = ()
    limits: Annotated[JsonObject, OMIT_DEFAULT] = field(default_factory=dict)
    weights: Annotated[tuple[tuple[str, float, bool], ...], OMIT_DEFAULT] = ()
    evaluators: Annotated[Mapping[str, str], OMIT_DEFAULT] = field(default_factory=dict)
    target: Annotated[JsonObject | None, OMIT_DEFAULT] = None
    pages: Annotated[str, OMIT_DEFAULT] = ""
    options: Annotated[JsonObject | None, OMIT_DEFAULT] = None
    segment_size: int = 1
    accepted_changes: Annotated[tuple[str, ...], OMIT_DEFAULT] = ()
    rescored_from: Annotated[JsonObject | None, OMIT_DEFAULT] = None
    rules: Annotated[JsonObject | None, OMIT_DEFAULT] = None
    headline: Annotated[Headline | None, OMIT_DEFAULT] = None
    lists: Annotated[JsonObject, OMIT_DEFAULT] = field(default_factory=dict)
    exports: Annotated[tuple[ReadExport, ...], OMIT_DEFAULT] = ()

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


class RunEntry(NamedTuple):
    """A run in a list; `problem` says why a run is corrupt.

    `comparable` is the same for runs that can be compared: same truth, same rules, same counting.
    `eval` is the name of the evaluation, `name` the name that a person gave the run, and
    `rescored_from` the run that a rescored run was computed from. `verdict` is the result of the
    gates, which is empty for a run that is not complete. Lists omit `archived` runs.
    """

    id: str
    status: RunStatus
    started_at: str = ""
    finished_at: str = ""
    convention: str = ""
    comparable: str = ""
    inputs: Sequence[str] = ()
    cases: int | None = None
    errors: int | None = None
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
        """The name of the ground truth: the first input, or the input after the eval file."""
        inputs = self.inputs[1:] or self.inputs if self.eval else self.inputs
        return inputs[0] if inputs else ""

    @property
    def title(self) -> str:
        """The name of the run for people."""
        return run_title(self.name, self.eval, self.inputs, self.id)

    def to_dict(self) -> JsonObject:
        """Return the entry as JSON."""
        return to_json(self)


def run_title(name: str, evaluation: str, inputs: Iterable[str], run: str) -> str:
    r"""Return the name of a run for people.

    It is its own name, the name of its evaluation, the name of its directory if a person chose it,
    the names of its inputs, or its id.

    >>> inputs = ["data/truth.jsonl", "C:\\data\\first\\"]
    >>> run_title("", "", inputs, "20250131T120000000000-0123456789abcdef0123456789abcdef")
    'truth.jsonl · first'
    >>> run_title("", "", inputs, "baseline")
    'baseline'
    """
    if name or evaluation or not GENERATED_ID.fullmatch(run):
        return name or evaluation or run
    # Data in memory and standard input have no name.
    named = (name for name in inputs if not name.startswith("("))
    names = (re.split(r"[\\/]", name.rstrip("\\/"))[-1] for name in named)
    return " · ".join(filter(None, names)) or run


def headline_of(summary: Summary, *, summary_bytes: int, results_bytes: int) -> Headline:
    """Return the headline of a finished run; safety that was not judged is unknown."""
    shown = summary.evaluated
    metrics = {name: shown.get(name) for name in _METRICS}
    if "safety" in summary.flags:
        metrics["safety"] = None
    return Headline(
        cases=summary.cases.total,
        errors=summary.cases.errors,
        metrics=metrics,
        vacuous=tuple(
            name
            for name in metrics
            if any(flag.endswith("vacuous") for flag in summary.flags.get(name, ()))
        ),
        verdict=summary.verdict,
        sizes=(summary_bytes, results_bytes),
    )


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
    names = [str(target.get("name")) for target in (before, after)]
    old, new = (
        options if isinstance(options := target.get("options"), dict) else {}
        for target in (before, after)
    )
    # By default, a model is named after its target.
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


_LARGE: Final = 32 << 20
"""The file size in bytes from which hashing takes longer than starting threads."""


def make_manifest(
    command: str,
    settings: Settings,
    providers: ProviderSet,
    *,
    limits: Limits,
    sources: Sequence[InputLike],
    options: JsonObject | None,
    segment_size: int,
    name: str = "",
    evaluators: Mapping[str, str] | None = None,
    inputs: Sequence[ManifestInput] | None = None,
    target: JsonObject | None = None,
    pages: str | Path | None = None,
) -> Manifest:
    """Return the manifest of a new run; its inputs are hashed unless they are known."""
    return Manifest(
        command=command,
        fieldmark=VERSION,
        python=platform.python_version(),
        convention=settings.applied,
        eval=name,
        providers=providers.identities(),
        inputs=tuple(hash_inputs(sources) if inputs is None else inputs),
        limits=asdict(limits),
        weights=rule_weights(settings.rules, *settings.others.values()),
        evaluators=evaluators or {},
        target=target,
        pages="" if pages is None else Path(pages).resolve().name,
        options=options,
        segment_size=segment_size,
        rules=settings.source,
    )


def hash_inputs(sources: Sequence[InputLike]) -> list[ManifestInput]:
    """Return the inputs with their hashes; large files are hashed concurrently."""
    files = [
        Path(source) for source in sources if isinstance(source, str | Path) and not is_url(source)
    ]
    if not any(file.is_file() and file.stat().st_size >= _LARGE for file in files):
        return [_hash_input(source) for source in sources]

    with ThreadPoolExecutor(len(sources)) as pool:
        return list(pool.map(_hash_input, sources))


def _hash_input(source: InputLike) -> ManifestInput:
    if not isinstance(source, str | Path):
        return ManifestInput(name="(in memory)")
    if is_url(source):
        opened = open_file(source)
        opened.close()
        return ManifestInput(name=opened.name, bytes=opened.size, version=opened.version or None)
    path = Path(source)
    if path.is_dir():
        return ManifestInput(name=str(source), sha256=_hash_directory(path))
    if not path.is_file():
        return ManifestInput(name=str(source))
    with path.open("rb") as file:
        return ManifestInput(
            name=str(source),
            bytes=path.stat().st_size,
            sha256=hashlib.file_digest(file, "sha256").hexdigest(),
        )


def _hash_directory(directory: Path) -> str:
    """Return a hash of the names and contents of the files in a directory."""
    digest = hashlib.sha256()
    for path in sorted(directory.iterdir()):
        content = b""
        # A link may lead outside the directory; an unreadable file is reported with its case.
        if path.is_file() and not path.is_symlink():
            with suppress(OSError), path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        digest.update(path.name.encode("utf-8", "surrogateescape") + b"\0" + content)
    return digest.hexdigest()
