"""The tools: each calls one function of the library with checked paths and rules.

Arguments come from a model, which may follow instructions in the data that it reads. So all paths
lead to files below the roots, rules cannot name functions, models or other files, and nothing is
written unless the server was started with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field

from fieldmark.analyses.diff import diff
from fieldmark.analyses.improve import find_slices, improve
from fieldmark.analyses.infer import propose_rules
from fieldmark.analyses.remote_options import given_options, with_options
from fieldmark.analyses.score import score
from fieldmark.analyses.show import CaseFilter, CaseList, explain, show_case, show_cases
from fieldmark.data.input_files import is_url
from fieldmark.data.inputs import Inputs
from fieldmark.data.roots import LocalRoots, OutsideRootsError
from fieldmark.errors import ConfigError, LimitError
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.summary import worst_attributes
from fieldmark.model.case import Verdict
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.exports.json import case_document
from fieldmark.rules.config_files import load_file
from fieldmark.rules.config_values import Context, LoadedRules
from fieldmark.rules.rules_file import RefusedRule, find_refused_rule, loaded_rules, read_rules
from fieldmark.runs.manifest import RunEntry
from fieldmark.runs.run_directory import new_run_id
from fieldmark.runs.run_index import CORRUPT, ROOT, find_run
from fieldmark.runs.run_options import ScoreOptions, read_inputs
from fieldmark.values.json_text import read_json, strict_json
from fieldmark.values.text import did_you_mean, plural

if TYPE_CHECKING:
    _Rules: TypeAlias = str | JsonObject | list[JsonValue] | None
else:
    # Arguments are parsed before validation, so their parts are known to be JSON.
    _Rules = str | dict[str, object] | list[object] | None

_RUN = "A run: its directory, its id or the start of it, a tag, `latest`, or `latest~1`."


_Top: TypeAlias = Annotated[
    int, Field(ge=1, le=100, description="The most entries of each list in the result.")
]
_Run: TypeAlias = Annotated[str, Field(description=_RUN)]


class ToolArguments(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@with_options(Inputs, "mcp", aliases=True)
class _InputArguments(ToolArguments):
    truth: Annotated[
        str,
        Field(
            description="Ground truth: a JSONL, JSON, YAML, CSV, XLSX or Parquet file, or a"
            " directory of <id>.json files, below a root."
        ),
    ]
    predictions: Annotated[
        str | None,
        Field(
            description="Predictions in the same forms, paired by id; without them, each row of"
            " truth has both sides."
        ),
    ] = None


@with_options(ScoreOptions, "mcp", aliases=True)
class ScoreArguments(_InputArguments):
    """The arguments of `score`."""

    rules: Annotated[
        _Rules,
        Field(description="A rules file below a root, or rules as in such a file."),
    ] = None
    save: Annotated[
        bool, Field(description="Save the run below runs/; the server must allow it.")
    ] = False
    top: _Top = 10

    def run_options(self) -> ScoreOptions:
        """Return the options of the run, except its rules."""
        options = {**given_options(self, ScoreOptions), "inputs": given_options(self, Inputs)}
        del options["rules"]
        return cast("ScoreOptions", options)


class ShowArguments(ToolArguments):
    """The arguments of `show`."""

    run: _Run
    case: Annotated[
        str | None, Field(description="The id of a case to show; without it, cases are listed.")
    ] = None
    path: Annotated[
        str | None,
        Field(description="A field of the case to explain, such as items[2].price."),
    ] = None
    verdict: Annotated[
        str | None,
        Field(description=f"List cases with this verdict: {', '.join(Verdict)} or error."),
    ] = None
    mistake: Annotated[
        str | None,
        Field(description=f"List cases with this mistake: {', '.join(ErrorCounts._fields)}."),
    ] = None
    tag: Annotated[str | None, Field(description="List cases with this tag.")] = None
    only_mistakes: Annotated[
        bool, Field(description="Show only the fields of a case that have mistakes.")
    ] = False
    top: _Top = 25


class DiffArguments(ToolArguments):
    """The arguments of `diff`."""

    before: _Run
    after: _Run
    rescore: Annotated[
        bool, Field(description="Apply the convention of the first run to the second.")
    ] = False
    force: Annotated[
        bool, Field(description="Compare runs with different rules, conventions or data.")
    ] = False
    by: Annotated[
        list[str], Field(description="Slices: tag, metadata.KEY or a path of the ground truth.")
    ] = []
    max_drop: Annotated[
        dict[str, float], Field(description="Gates: how much worse a metric may be.")
    ] = {}
    top: _Top = 10


class ImproveArguments(ToolArguments):
    """The arguments of `improve`."""

    run: _Run
    top: _Top = 5


class InferArguments(_InputArguments):
    """The arguments of `infer`."""


MAX_CHARACTERS: Final = 40_000
"""The most characters of a result, about 10,000 tokens."""
_MAX_TEXT: Final = 500
_MIN_TEXT: Final = 60
_BY_NAME: Final = frozenset({"attributes", "evaluators", "groups", "slices"})
"""Objects whose keys are names from data, which are shortened like lists."""
_MAX_KEYS: Final = 40
"""The most keys of other objects; only documents have more."""
_MAX_DEPTH: Final = 20
_MAX_NOTES: Final = 20


def bounded_json(result: JsonObject, items: int) -> JsonObject:
    """Return a result with at most this many items per list, fewer if it would be too long.

    >>> bounded_json({"cases": ["a", "b", "c"]}, 2)
    {'cases': ['a', 'b'], 'shortened': {'cases': '2 of 3 items'}}
    """
    text = _MAX_TEXT
    while True:
        shortener = _Shortener(items, text)
        short = cast("JsonObject", shortener.shorten(result, "", 0))
        if shortener.notes:
            short = {**short, "shortened": shortener.notes}
        # Non-finite numbers become null, as in every other output.
        encoded = strict_json(short)
        if len(encoded) <= MAX_CHARACTERS:
            return cast("JsonObject", read_json(encoded))
        if items == 1 and text == _MIN_TEXT:
            message = f"the result has more than {MAX_CHARACTERS:,} characters"
            raise LimitError("characters", message)
        items, text = max(1, items // 2), max(_MIN_TEXT, text // 2)


class _Shortener:
    """Shortens values, and notes omissions by path."""

    def __init__(self, items: int, text: int) -> None:
        self._items = items
        self._text = text
        self._left_out = 0
        self.notes: JsonObject = {}

    def shorten(self, value: JsonValue, path: str, depth: int) -> JsonValue:
        """Return a value with short lists and texts."""
        if isinstance(value, str):
            return self._shorten_text(value, path)
        if isinstance(value, list):
            items = [] if depth >= _MAX_DEPTH else value[: self._items]
            self._note(path, len(items), len(value), "item")
            return [
                self.shorten(item, f"{path}[{number}]", depth + 1)
                for number, item in enumerate(items)
            ]
        if isinstance(value, dict):
            name = path.rpartition(".")[2]
            limit = self._items if name in _BY_NAME else max(self._items, _MAX_KEYS)
            shown = 0 if depth >= _MAX_DEPTH else min(len(value), limit)
            self._note(path, shown, len(value), "key")
            return {
                self._shorten_text(key, f"{path}.(key)"): self.shorten(
                    value[key], f"{path}.{key}" if path else key, depth + 1
                )
                for key in list(value)[:shown]
            }
        return value

    def _shorten_text(self, text: str, path: str) -> str:
        # A lone surrogate cannot be sent.
        text = text.encode("utf-8", "backslashreplace").decode()
        self._note(path, min(len(text), self._text), len(text), "character")
        return text if len(text) <= self._text else f"{text[: self._text]}…"

    def _note(self, path: str, shown: int, total: int, noun: str) -> None:
        if shown >= total:
            return
        if len(self.notes) < _MAX_NOTES:
            name = path.encode("utf-8", "backslashreplace").decode()[: self._text]
            self.notes[name] = f"{shown} of {plural(total, noun)}"
        else:
            self._left_out += 1
            self.notes["…"] = f"{plural(self._left_out, 'other value')} shortened"


_REFUSED: Final = {
    RefusedRule.PROVIDER: "only the providers lexical and recorded (with its scores) are allowed",
    RefusedRule.SAFETY: "only the safety judges none and wordlist are allowed",
    RefusedRule.CALIBRATION: "a calibration file is not read; use the threshold itself",
}
_VERDICTS: Final = (*(verdict.value for verdict in Verdict), "error")
_MAX_ITEMS: Final = 10_000
"""The most items of lists in the results of tools without `top`."""


class Toolbox:
    """The tools of a server, with the directories that they may read.

    Relative paths are relative to the current directory. With `write`, runs can be saved.
    """

    def __init__(self, roots: Sequence[Path], *, write: bool = False) -> None:
        self._roots = LocalRoots(roots)
        self._shown_roots = ", ".join(map(str, roots))
        self.writes = write

    def score(self, arguments: ScoreArguments) -> JsonObject:
        """Score predictions against ground truth, field by field.

        Returns precision, recall and F1 per attribute (worst first) and in total, the types of
        mistakes, warnings, the results of gates, and the worst cases. By default, only equal JSON
        values match; rules accept other dates, tolerances and similar texts. With `save`, the
        result names the `run`, which the other tools accept.
        """
        if arguments.save and not self.writes:
            hint = "start it with `fieldmark mcp --write` to save runs"
            raise ConfigError.of("save: the server is read-only", hint=hint)
        name = new_run_id() if arguments.save else None
        options = arguments.run_options()
        options["rules"] = self._rules(arguments.rules)
        options["out"] = None if name is None else self._runs() / name
        run = score(
            self._path("truth", arguments.truth),
            None
            if arguments.predictions is None
            else self._path("predictions", arguments.predictions),
            **options,
        )
        result = run.to_dict()
        by_path = result["attributes"]
        assert isinstance(by_path, dict)  # noqa: S101 - as in every summary
        worst = CaseList.of(run.cases, arguments.top).to_dict()
        return {
            **({} if name is None else {"run": name}),
            **result,
            "attributes": {
                path: by_path[path] for path, _ in worst_attributes(run.summary.attributes)
            },
            "worst_cases": worst["cases"],
            "notes": list(run.notes),
        }

    def show(self, arguments: ShowArguments) -> JsonObject:
        """List the worst cases of a saved run, show one case, or explain one field of a case.

        A case has the outcome of every field with the expected and the predicted value, and the
        results of evaluators. A field has its aligned list items, the comparator with its options
        and threshold, where its rule comes from, the similarity, and the cost of the outcome.
        """
        run = self._run("run", arguments.run)
        if arguments.case is None:
            for name in ("path", "only_mistakes"):
                if getattr(arguments, name):
                    raise ConfigError.of(f"{name} requires case")
            _check_word("verdict", arguments.verdict, _VERDICTS)
            _check_word("mistake", arguments.mistake, ErrorCounts._fields)
            wanted = CaseFilter(
                verdict=arguments.verdict, mistake=arguments.mistake, tag=arguments.tag
            )
            return show_cases(run, wanted=wanted, top=arguments.top).to_dict()
        for name in ("verdict", "mistake", "tag"):
            if getattr(arguments, name) is not None:
                raise ConfigError.of(f"{name} cannot be used with case")
        if arguments.path is None:
            return case_document(
                show_case(run, arguments.case), only_mistakes=arguments.only_mistakes
            )
        if arguments.only_mistakes:
            raise ConfigError.of("only_mistakes cannot be used with path")
        return explain(run, arguments.case, arguments.path).to_dict()

    def diff(self, arguments: DiffArguments) -> JsonObject:
        """Compare two saved runs on the same ground truth, case by case.

        Returns every metric before and after with a confidence interval and a p-value, the cases
        that became better or worse, and new and fixed errors. The conclusion says whether the
        second run is better, worse, or cannot be told from the first.
        """
        return diff(
            self._run("before", arguments.before),
            self._run("after", arguments.after),
            rescore=arguments.rescore,
            force=arguments.force,
            by=arguments.by or None,
            max_drop=arguments.max_drop,
        ).to_dict()

    def improve(self, arguments: ImproveArguments) -> JsonObject:
        """Say what to fix first in the extraction, from the mistakes of a saved run.

        Attributes are ranked by how much the mean score would increase if they were correct.
        Similar mistakes are grouped, with examples and a recommendation for the prompt, the schema
        or post-processing. Weak slices are groups of cases with a significantly lower F1.
        """
        run = self._run("run", arguments.run)
        return {**improve(run).to_dict(), "weak_slices": find_slices(run).to_dict()}

    def infer(self, arguments: InferArguments) -> JsonObject:
        """Propose rules for ground truth or a JSON Schema, with a reason for every rule.

        With predictions, differences between the two sides are taken into account. Review the
        rules: a rule that accepts too much hides mistakes. `rules` can be passed to score.
        """
        proposed = propose_rules(
            self._path("truth", arguments.truth),
            None
            if arguments.predictions is None
            else self._path("predictions", arguments.predictions),
            read_inputs(given_options(arguments, Inputs)),
        )
        return {
            "rules": dict(proposed),
            "reasons": proposed.reasons,
            "source": proposed.source,
            "warnings": list(proposed.warnings),
        }

    # --- arguments --------------------------------------------------------------------------------

    def _path(self, argument: str, name: str) -> Path:
        """Return the path of a file or directory below a root, with links resolved."""
        if is_url(name):
            raise ConfigError.of(f"{argument}: URLs are not read", hint="download the file first")
        try:
            path = self._roots.resolve(name)
        except OutsideRootsError as error:
            if self._roots.contains(name):
                message = f"{argument}: {name!r} not found, or not a regular file or directory"
                raise ConfigError.of(message) from error
            raise self._outside(argument) from error
        here = Path.cwd()
        # Messages are shorter, and never name directories above a root.
        return path.relative_to(here) if path.is_relative_to(here) else path

    def _outside(self, argument: str) -> ConfigError:
        hint = f"this server reads files below: {self._shown_roots}"
        return ConfigError.of(f"{argument}: the path leads out of the roots", hint=hint)

    def _runs(self) -> Path:
        """Return the directory with the saved runs, which need not exist."""
        if not self._roots.contains(ROOT):
            raise self._outside(ROOT)
        return Path(ROOT)

    def _run(self, argument: str, name: str) -> Path:
        """Return the directory of a run below a root, none of whose files leads elsewhere."""
        if os.sep in name or name in {"", os.curdir, os.pardir}:
            path = self._path(argument, name)
        else:
            runs = self._runs()

            def accept(entry: RunEntry) -> bool:
                return entry.status != CORRUPT and self._roots.contains(runs / entry.id)

            run = find_run(name, runs, accept=accept, update_cache=False)
            path = self._path(argument, str(run))
        if not path.is_dir():
            raise ConfigError.of(f"{argument}: {name!r} is not the directory of a run")
        with os.scandir(path) as entries:
            if not all(self._roots.contains(entry.path) for entry in entries if entry.is_symlink()):
                raise self._outside(argument)
        return path

    def _rules(self, rules: str | JsonObject | list[JsonValue] | None) -> LoadedRules | None:
        """Return rules that name no function, no model with an endpoint and no other file."""
        if rules is None:
            return None
        if isinstance(rules, str):
            path = self._path("rules", rules)
            located = load_file(path)
            _check_rules(located.value)
            return loaded_rules(located, Context(directory=path.parent))
        _check_rules(rules)
        return read_rules(rules, file="rules")


def _check_rules(rules: JsonValue) -> None:
    refused = find_refused_rule(rules)
    if refused is not None:
        raise ConfigError.of(f"rules: {refused}: {_REFUSED[refused]}")


def _check_word(argument: str, word: str | None, words: Sequence[str]) -> None:
    if word is not None and word not in words:
        message = f"{argument}: unknown value {word!r}; must be one of: {', '.join(words)}"
        raise ConfigError.of(message, hint=did_you_mean(word, words))


_Function: TypeAlias = Callable[[Toolbox, Any], JsonObject]


class Tool(NamedTuple):
    """A tool: its arguments and the function that it calls."""

    arguments: type[ToolArguments]
    function: _Function

    @property
    def description(self) -> str:
        """The description of the tool for a model."""
        return cleandoc(self.function.__doc__ or "")

    def call(self, toolbox: Toolbox, arguments: JsonObject) -> JsonObject:
        """Call the tool; the result is short enough for a model."""
        checked = self.arguments.model_validate(arguments)
        return bounded_json(self.function(toolbox, checked), getattr(checked, "top", _MAX_ITEMS))


TOOLS: Final = {
    "score": Tool(ScoreArguments, Toolbox.score),
    "show": Tool(ShowArguments, Toolbox.show),
    "diff": Tool(DiffArguments, Toolbox.diff),
    "improve": Tool(ImproveArguments, Toolbox.improve),
    "infer": Tool(InferArguments, Toolbox.infer),
}
"""The tools by name."""
