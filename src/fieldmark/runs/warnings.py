"""Warnings and notes of a run.

Warnings are about invalid cases, uncertain comparisons and unused rules; notes say how list items
were aligned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from fieldmark.compare.exact import Ignore
from fieldmark.compare.prompt_injection import INJECTION_NOTE, INJECTION_WARNING
from fieldmark.data.row_layout import CANDIDATE_KEYS, EXPECTED_KEYS
from fieldmark.errors import Location, OptionHint, OptionPhrase, OptionText, with_hint
from fieldmark.metrics.case_score import ERRORS_COUNT, CaseStats
from fieldmark.metrics.confidence import ConfidenceTally, summarize_confidence
from fieldmark.metrics.gates import MissingPath
from fieldmark.metrics.summary import Summary
from fieldmark.metrics.tally import FactsByPath
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import Case, CaseInput, all_read, documents_of
from fieldmark.model.comparison import OPTIONAL_NOTE, SPELLING_NOTE
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.kernel import COMPILED, kernel, parsed
from fieldmark.model.outcome import CELL_BITS, FACT_MASK, FACTS, Outcome, Presence
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.reader import ReadExport
from fieldmark.model.rule import Rule, Rules
from fieldmark.runs.case_result import CaseResult, CaseResults, case_columns
from fieldmark.values.paths import (
    ROOT,
    Path,
    attribute_of,
    first_keys,
    has_path,
    join,
    leaves,
    may_have_path,
    parse_path,
    path_or_none,
)
from fieldmark.values.text import counts_text, nearest, plural
from fieldmark.values.value_confidences import ConfidenceOptions

if TYPE_CHECKING:
    from fieldmark.align.entries import Entries
    from fieldmark.align.exact_methods import Key
    from fieldmark.align.greedy import Greedy
    from fieldmark.align.optimal import Optimal
    from fieldmark.model.kernel._kernel import Document


_RulePath: TypeAlias = tuple[str, bool]
"""The path of a rule, and whether only ground truth is searched for it."""
_ITEM: Final = re.compile(r"\[\]")
_KEY: Final = re.compile(r"\.|\[\"")
_IS_VACUOUS: Final = itemgetter(CaseStats._fields.index("vacuous"))
_NAMED: Final = 3
"""The maximum number of cases or lists of one type that are named; further ones are counted."""
_MAX_ATTRIBUTES: Final = 10_000
"""The maximum number of attributes that are remembered for suggestions."""
_UNREADABLE: Final[Mapping[CaseInput, str]] = {
    CaseInput.INVALID_TRUTH: "cannot parse ground truth",
    CaseInput.PARSE_ERROR: "cannot parse prediction",
    CaseInput.FAILED: "target failed",
}
_ERROR: Final = "evaluation failed"
_APPROXIMATE: Final = (
    "string comparison",
    (
        "used the built-in lexical provider, which approximates meaning without a model; "
        "configure a provider for semantic comparison"
    ),
)
_SIMILAR_NAMES: Final = (
    "comparison",
    (
        "of names or addresses matched although a title, a legal form, an initial or a letter of a "
        "long word differs"
    ),
)
_AMBIGUOUS: Final = (
    "ambiguous value",
    (
        "could also be another date (read as month first), number or currency, or a time in "
        "another time zone; set `order` or `formats`, `number_format`, or `currency` on the field"
    ),
)
_FALLBACK: Final = (
    "case",
    "had lists that were too long for optimal alignment and were aligned greedily",
)
_SUSPICIOUS: Final = (
    "model comparison",
    "had strings that look like instructions to the model; review these fields",
)
_SUSPICIOUS_CASE: Final = (
    "judged case",
    "had strings that look like instructions to the judge; review these cases",
)
_VACUOUS: Final = ("case", "had nothing to score and passed by default")
_IOU: Final = "match: iou"
_NUMBERS: Final = frozenset((int, float))
_MAX_BOX_CASES: Final = 100
"""The number of cases whose ground truth is searched for boxes."""
_BUILT_IN: Final = "lexical"
"""The provider without a model."""
_WORDS: Final = ("FUZZY", "SEMANTIC")
"""The words of strategy files that ask a provider."""
_ALIGNED: Final[Mapping[str, str]] = {
    "index": "list items aligned by position",
    "sequence": "list items aligned in order (lists of numbers, dates or lists)",
    "set": "list items aligned by equality",
    "whole": "lists compared as single values",
}


class CaseWarnings:
    """Counts problems and uncertain comparisons, and names the first few cases.

    Without `values`, notes that may quote a document are omitted. `unseen` are the paths in the
    `rule_sets` that no document had so far, or with `True` no ground truth.
    """

    __slots__ = ("_boxes", "_counts", "_first", "_flags", "_values", "unseen")

    def __init__(self, *, values: bool = True, rule_sets: Sequence[Rules] = ()) -> None:
        self._values = values
        self._boxes: list[dict[str, bool]] = []
        self.unseen: dict[_RulePath, Path] = {}
        for rule in (rule for rules in rule_sets for rule in rules.fields):
            path = path_or_none(rule.path)
            if path is not None:
                self.unseen |= dict.fromkeys(
                    {(path.text, False), (path.text, rule.truth_only)}, path
                )
        self._counts: dict[str, int] = dict.fromkeys((*_UNREADABLE.values(), _ERROR), 0)
        self._first: dict[str, list[str]] = {problem: [] for problem in self._counts}
        self._flags: dict[tuple[str, str], int] = dict.fromkeys(
            (
                _APPROXIMATE,
                _SIMILAR_NAMES,
                _AMBIGUOUS,
                _FALLBACK,
                _SUSPICIOUS,
                _SUSPICIOUS_CASE,
                _VACUOUS,
            ),
            0,
        )

    def add(
        self,
        results: Sequence[CaseResult],
        unreadable: Sequence[Case] = (),
        *,
        has_errors: bool | None = None,
    ) -> None:
        """Add results, and `unreadable` cases with invalid ground truth.

        `has_errors` says whether some of the results have errors, if this is known.
        """
        for case in unreadable:
            self._add_case(_UNREADABLE[case.input], case.note if self._values else _named(case))
        cases, outcomes, stats = case_columns(results)
        if not all_read(cases):
            for case in cases:
                if case.input in _UNREADABLE:
                    note = f": {case.note}" if self._values else ""
                    self._add_case(_UNREADABLE[case.input], f"{_named(case)}{note}")
        if has_errors or (has_errors is None and any(map(ERRORS_COUNT, stats))):
            for result in results:
                if result.stats.errors_count and result.case.input is not CaseInput.FAILED:
                    self._add_case(_ERROR, f"{_named(result.case)}: {self._failure(result)}")
        if self.unseen:
            self._find_paths(cases)
        if results and len(self._boxes) < _MAX_BOX_CASES:
            self._find_boxes(cases, results[0].attributes)
        flags = self._flags
        flags[_VACUOUS] += sum(map(_IS_VACUOUS, stats))
        flags[_FALLBACK] += sum([block.fallback for block in outcomes])
        if not isinstance(results, CaseResults):
            for result in results:
                flags[_SUSPICIOUS_CASE] += any(
                    INJECTION_WARNING in evaluation.score.warnings
                    for evaluation in result.evaluator_results
                )
        comparisons = [comparison for own in outcomes for comparison in own.comparisons.values()]
        notes = [comparison.note for comparison in comparisons]
        names = notes.count(SPELLING_NOTE) + notes.count(OPTIONAL_NOTE)
        flags[_SIMILAR_NAMES] += names
        flags[_APPROXIMATE] += sum([comparison.approximate for comparison in comparisons]) - names
        flags[_AMBIGUOUS] += sum([comparison.ambiguous for comparison in comparisons])
        flags[_SUSPICIOUS] += notes.count(INJECTION_NOTE)

    def _find_paths(self, cases: Sequence[Case]) -> None:
        """Remove the paths that the documents of these cases have."""
        pairs = documents_of(cases)
        documents = list(chain.from_iterable(pairs))
        keys = first_keys(self.unseen.values())
        index = _find_document(documents, 0, keys)
        while index < len(documents) and self.unseen:
            both = [parsed(document) for document in pairs[index // 2]]
            unseen = {
                (text, truth_only): path
                for (text, truth_only), path in self.unseen.items()
                if not any(
                    document is not MISSING and has_path(document, path)
                    for document in both[: 2 - truth_only]
                )
            }
            if len(unseen) < len(self.unseen):
                self.unseen, keys = unseen, first_keys(unseen.values())
            index = _find_document(documents, index // 2 * 2 + 2, keys)

    def _find_boxes(self, cases: Sequence[Case], table: AttributeTable) -> None:
        """Search the first documents for lists that are boxes, if any were compared as lists."""
        first = cases[: _MAX_BOX_CASES - len(self._boxes)]
        if not any(attribute.path.endswith("[]") for attribute in table.attributes):
            self._boxes += [{} for _ in first]
            return
        for expected, _ in documents_of(first):
            self._boxes.append(dict(_number_lists(parsed(expected), "")))

    def merge(self, other: CaseWarnings) -> None:
        """Add the warnings of the next part of the run."""
        for problem, number in other._counts.items():
            self._first[problem] += other._first[problem][: max(0, _NAMED - self._counts[problem])]
            self._counts[problem] += number
        for flag, number in other._flags.items():
            self._flags[flag] += number
        self._boxes += other._boxes[: max(0, _MAX_BOX_CASES - len(self._boxes))]
        both = self.unseen.keys() & other.unseen.keys()
        self.unseen = {key: path for key, path in self.unseen.items() if key in both}

    def state(self) -> list[JsonValue]:
        """Return everything that was collected as JSON, for `restore`."""
        unseen: list[JsonValue] = [[text, truth_only] for text, truth_only in self.unseen]
        first: list[JsonValue] = [list(texts) for texts in self._first.values()]
        boxes: list[JsonValue] = [{**own} for own in self._boxes]
        return [[*self._counts.values()], first, [*self._flags.values()], unseen, boxes]

    def restore(self, state: Sequence[JsonValue]) -> None:
        """Take what another object with the same rules collected; raise `ValueError` if invalid."""
        match state:
            case [[*counts], [*first], [*flags], [*unseen], [*boxes]]:
                if not all(type(count) is int for count in (*counts, *flags)):
                    raise ValueError("warnings must be counted")
                self._counts = dict(zip(self._counts, cast("list[int]", counts), strict=True))
                self._flags = dict(zip(self._flags, cast("list[int]", flags), strict=True))
                for problem, texts in zip(self._first, first, strict=True):
                    self._first[problem] = [str(text) for text in cast("list[str]", texts)]
                known = {(str(text), bool(only)) for text, only in cast("list[list[str]]", unseen)}
                self.unseen = {key: path for key, path in self.unseen.items() if key in known}
                self._boxes = [
                    {path: bool(is_box) for path, is_box in cast("JsonObject", own).items()}
                    for own in boxes
                ]
            case _:
                raise ValueError("warnings must be five lists")

    def errors(self) -> list[str]:
        """Return a warning for each of the first few cases with a problem, and one with a count."""
        warnings: list[str] = []
        for problem, number in self._counts.items():
            warnings += [f"{problem}: {text}" for text in self._first[problem]]
            if number > _NAMED:
                warnings.append(f"{problem}: {plural(number - _NAMED, 'more case')}")
        return warnings

    def uncertain(self) -> list[str]:
        """Return a warning for each type of uncertain comparison."""
        return [
            f"{plural(number, noun)} {text}"
            for (noun, text), number in self._flags.items()
            if number
        ]

    def box_note(self, lists: Mapping[str, Aligner]) -> list[str]:
        """Return a note that names the lists which are boxes, but are compared as four numbers."""
        are_boxes: dict[str, bool] = {}
        for own in self._boxes:
            for path, is_box in own.items():
                are_boxes[path] = are_boxes.get(path, True) and is_box
        paths = [
            path
            for path, is_box in are_boxes.items()
            if is_box and (aligner := lists.get(path)) is not None and aligner.name == "sequence"
        ]
        if not paths:
            return []
        return [f"four numbers that form boxes: {_first_few(paths)}; to compare overlap: {_IOU}"]

    def _add_case(self, problem: str, text: str) -> None:
        self._counts[problem] += 1
        if self._counts[problem] <= _NAMED:
            self._first[problem].append(text)

    def _failure(self, result: CaseResult) -> str:
        """Return why a case failed."""
        return (result if self._values else replace(result, has_values=False)).error


def _number_lists(value: JsonValue | Missing, path: str) -> Iterator[tuple[str, bool]]:
    """Yield the path of each list of numbers in a document, and whether all lists there are boxes.

    Null and an empty list say nothing.
    """
    from fieldmark.values.geometry import BoxFormat, box_formats

    are_boxes: dict[str, bool] = {}
    waiting: list[tuple[str, JsonValue | Missing]] = [(path, value)]
    while waiting:
        where, inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += [(join(where, key), own) for key, own in inner.items()]
        elif isinstance(inner, list) and inner and _NUMBERS.issuperset(map(type, inner)):
            is_box = BoxFormat.XYXY in box_formats(inner)
            are_boxes[where or ROOT] = are_boxes.get(where or ROOT, True) and is_box
        elif isinstance(inner, list):
            waiting += [(f"{where}[]", own) for own in inner if isinstance(own, dict | list)]
    yield from are_boxes.items()


def _find_document(
    documents: list[JsonValue | Missing | Document], start: int, keys: frozenset[str] | None
) -> int:
    """Return the place of the first document from `start` on that may have one of the keys."""
    if keys is None:
        return start
    raw_keys = tuple(key.encode("utf-8", "surrogatepass") for key in keys) if COMPILED else ()
    while start < len(documents):
        if COMPILED:
            start = kernel.find_document(documents, start, raw_keys)
        document = documents[start] if start < len(documents) else None
        if isinstance(document, dict):
            lacks_keys = keys.isdisjoint(document)
        else:
            lacks_keys = document is MISSING
        if not lacks_keys:
            return start
        start += 1
    return start


def _named(case: Case) -> str:
    return f"case {case.id!r}"


def pair_warnings(results: Sequence[CaseResult], rules: Rules) -> list[str]:
    """Return warnings that compared documents do not have the same structure or a configured path.

    All candidates have the same expected document. A path that need not exist is only named if it
    looks misspelled: there is a similar path, which has no rule of its own.
    """
    facts: dict[str, Counter[int]] = {}
    read = 0
    for result in results:
        read += result.case.input is CaseInput.OK
        for cell in result.outcomes.cells:
            path = result.attributes.path(cell >> CELL_BITS)
            facts.setdefault(path, Counter())[cell & FACT_MASK] += 1
    required = {rule.path: is_required(rule) for rule in rules.fields}
    in_pairs = [missing_in_pair(result.case, required) for result in results]
    missing = [
        path
        for path in in_pairs[0]
        if all(path in own for own in in_pairs)
        and (required[path.path] or (path.nearest and path.nearest not in required))
    ]
    return [*structural_warnings(facts, read=read, rows=False), *map(str, missing)]


def structural_warnings(facts: FactsByPath, *, read: int, rows: bool = True) -> list[str]:
    """Return warnings that the two sides do not have the same structure.

    `read` is the number of cases with a candidate. Only documents in `rows` are read from a key.
    """
    absent = Presence.ABSENT
    expected, candidate = (
        [path for path, own in facts.items() if any(FACTS[e][side] is not absent for e in own)]
        for side in (1, 2)
    )
    warnings: list[str] = []
    outcomes = {FACTS[fact].outcome for own in facts.values() for fact in own}
    if outcomes == {Outcome.IGNORED}:
        warnings.append("nothing was compared: the rules ignore every field")
    if read and expected and not candidate:
        warnings.append(f"no prediction has any of the expected fields ({_first_few(expected)})")
    elif read and expected and set(expected).isdisjoint(candidate):
        sides = f"ground truth: {_first_few(expected)}; predictions: {_first_few(candidate)}"
        message = f"ground truth and predictions have no attribute in common ({sides})"
        inside = _common_wrapper(candidate, expected, EXPECTED_KEYS)
        outside = _common_wrapper(expected, candidate, CANDIDATE_KEYS)
        role, key = ("candidate", inside) if inside else ("expected", outside)
        hint = (
            OptionText(OptionHint(OptionPhrase.SET_KEY_TO, role, key))
            if rows
            else f"compare the {role} value of {key!r}"
        )
        warnings.append(with_hint(message, hint if key else ""))
    lists, items = (
        {path[: match.start()] for path in paths for match in _ITEM.finditer(path)}
        for paths in (expected, candidate)
    )
    single = [path for path in candidate if path in lists - items]
    if single:
        warnings.append(
            f"lists in ground truth, but single values in predictions: {_first_few(single)}; "
            "if one item of a list is enough, set any_of: true on these fields"
        )
    objects = [
        {path[: match.start()] for path in paths for match in _KEY.finditer(path)}
        for paths in (expected, candidate)
    ]
    for side, others, message in (
        (0, candidate, "single values in ground truth, but objects in predictions"),
        (1, expected, "objects in ground truth, but single values in predictions"),
    ):
        mixed = (objects[1 - side] - objects[side]).difference(others)
        values = [
            path
            for path in facts
            if path in mixed
            and any(FACTS[fact][side + 1] is Presence.VALUE for fact in facts[path])
        ]
        if values:
            warnings.append(f"{message}: {_first_few(values)}")
    return warnings


def _common_wrapper(paths: Sequence[str], others: Sequence[str], excluded: Sequence[str]) -> str:
    """Return the key below which more than half of the other paths are found, or nothing.

    An `excluded` key contains a copy of the other side.
    """
    keys = dict.fromkeys(path.partition(".")[0] for path in paths)
    known = set(paths)
    for key in keys:
        if key not in excluded and 2 * sum(f"{key}.{other}" in known for other in others) > len(
            others
        ):
            return key
    return ""


def _first_few(paths: Sequence[str]) -> str:
    more = ", …" if len(paths) > _NAMED else ""
    return f"{', '.join(paths[:_NAMED])}{more}"


class PathProblem(StrEnum):
    """Why a configured path was never compared."""

    NO_DOCUMENT = "no_document"
    NO_TRUTH = "no_truth"
    COMPARED_AS_PART = "compared_as_part"


class UnusedPath(NamedTuple):
    """A configured path that was never compared, and where it is configured.

    `nearest` is the most similar path that exists, or the value that was compared as a whole.
    `evaluator` is the name of an evaluator whose path is not in the rules.
    """

    path: str
    problem: PathProblem = PathProblem.NO_DOCUMENT
    nearest: str = ""
    location: Location = Location()
    evaluator: str = ""
    required: bool = True
    strict: bool = False

    @property
    def is_missing(self) -> bool:
        """Whether the path must exist, and no document has it."""
        return self.required and self.problem is PathProblem.NO_DOCUMENT

    @property
    def missing(self) -> MissingPath:
        """The path and the most similar path."""
        return MissingPath(self.path, self.nearest)

    @property
    def text(self) -> str:
        """What is wrong, for people."""
        match self.problem:
            case PathProblem.NO_DOCUMENT:
                return str(self.missing)
            case PathProblem.NO_TRUTH:
                return f"no ground truth has {self.path!r}"
            case PathProblem.COMPARED_AS_PART:
                return f"{self.path!r} was not compared: {self.nearest!r} was compared as one value"

    @property
    def warning(self) -> str:
        """What is wrong and where, for people."""
        where = self.evaluator or str(self.location)
        return f"{where}: {self.text}" if where else self.text


def unused_rules(
    rules: Rules,
    facts: FactsByPath,
    unseen: Container[_RulePath],
    documents: DocumentPaths | None = None,
) -> list[UnusedPath]:
    """Return each path in the rules that was never compared.

    `unseen` are the unseen paths of `CaseWarnings`. Another path is not compared if a value around
    it is compared as a whole, or if it is out of scope. If nothing was compared at all, only a path
    that a prediction has is known to be missing from the ground truth. The nearest path is one of
    the `documents`, by default of the compared fields. An ignored path need not exist.
    """
    nothing_compared = not any(facts.values())
    absent = Presence.ABSENT
    seen = [
        path
        for path, own in facts.items()
        if any(FACTS[fact][1:] != (absent, absent) for fact in own)
    ]
    compared = {
        path.segments: path
        for path in map(path_or_none, seen)
        if path is not None
        and any(FACTS[fact].outcome is not Outcome.IGNORED for fact in facts[path.text])
    }
    unused: list[UnusedPath] = []
    for rule in rules.fields:
        path = path_or_none(rule.path)
        if path is None or (_is_in_map(rule, rules) and _is_at_or_above(attribute_of(path), seen)):
            continue
        own = UnusedPath(
            path.text,
            location=rule.location,
            required=is_required(rule),
            strict=rule.strict or rules.strict,
        )
        if (path.text, rule.truth_only) not in unseen:
            segments = parse_path(attribute_of(path)).segments
            around = (segments[:end] for end in range(1, len(segments)))
            whole = next((compared[path].text for path in around if path in compared), None)
            if whole is not None and segments not in compared:
                unused.append(own._replace(problem=PathProblem.COMPARED_AS_PART, nearest=whole))
            continue
        if any(
            rule.path.startswith(f"{other.path}[") and (other.path, other.truth_only) in unseen
            for other in rules.fields
        ):
            continue
        if (path.text, False) not in unseen:
            unused.append(own._replace(problem=PathProblem.NO_TRUTH))
        elif not nothing_compared:
            close = nearest(path.text, seen) if documents is None else documents.nearest(rule.path)
            unused.append(own._replace(nearest=close or ""))
    return unused


def is_required(rule: Rule) -> bool:
    """Return whether a document must have the path of a rule; an ignored path need not exist."""
    return rule.required and not isinstance(rule.comparator, Ignore)


def missing_in_pair(case: Case, paths: Iterable[str]) -> list[MissingPath]:
    """Return the paths that neither document of a single case has.

    A path below null or an empty list may exist in other documents.
    """
    documents = DocumentPaths(paths)
    documents.add(case)
    both = [side for side in (case.expected, case.candidate) if side is not MISSING]
    return [
        MissingPath(text, documents.nearest(text))
        for text in paths
        if documents.lacks(text)
        and (path := path_or_none(text)) is not None
        and not any(may_have_path(document, path) for document in both)
    ]


def _is_in_map(rule: Rule, rules: Rules) -> bool:
    """Whether a path selects values of an object that is used as a map, which `[*]` stands for."""
    return any(
        own.aligner is not None
        and own.aligner.name == "entries"
        and rule.path.removeprefix("" if own.path == ROOT else own.path).startswith(("[*]", "[]"))
        for own in rules.fields
    )


def _is_at_or_above(attribute: str, seen: Iterable[str]) -> bool:
    below = (f"{attribute}.", f"{attribute}[")
    return any(path == attribute or path.startswith(below) for path in seen)


class DocumentPaths:
    """Which of the configured paths occur in the documents of a run.

    Documents are read only until all paths have been found.
    """

    __slots__ = ("_attributes", "_missing")

    def __init__(self, paths: Iterable[str]) -> None:
        self._missing = {text: path_or_none(text) for text in paths}
        self._attributes: dict[str, Path] = {}

    def add(self, case: Case) -> None:
        """Look for the missing paths in both documents of a case."""
        for document in (case.expected, case.candidate) if self._missing else ():
            if document is MISSING:
                continue
            self._remember(self._new_attributes(document))
            for text, path in list(self._missing.items()):
                if path is not None and has_path(document, path):
                    del self._missing[text]

    def merge(self, other: DocumentPaths) -> None:
        """Add the paths of the next part of the run."""
        self._missing = {
            text: path for text, path in self._missing.items() if text in other._missing
        }
        self._remember(other._attributes)

    def _remember(self, attributes: Mapping[str, Path]) -> None:
        """Add attributes in their order, up to the limit."""
        new = (item for item in attributes.items() if item[0] not in self._attributes)
        self._attributes.update(islice(new, _MAX_ATTRIBUTES - len(self._attributes)))

    def _new_attributes(self, document: JsonValue) -> dict[str, Path]:
        """Return the attributes of a document, and of its lists and objects, not seen before."""
        new: dict[str, Path] = {}
        for path in map(path_or_none, dict.fromkeys(leaf for leaf, _ in leaves(document))):
            for end in range(len(path.segments) if path else 0, 0, -1):
                assert path is not None  # noqa: S101 - else there is no step
                prefix = Path(path.text, path.segments[:end], path.starts[:end])
                attribute = attribute_of(prefix)
                if attribute in new or attribute in self._attributes:
                    break
                new[attribute] = parse_path(attribute)
        return new

    def lacks(self, path: str) -> bool:
        """Return whether no document has a configured path."""
        return path in self._missing

    def describe(self, path: str) -> str:
        """Return a path that no document has, with the nearest path that exists."""
        text = path.removeprefix("**.")
        close = self.nearest(path)
        return f"{text!r} (did you mean {close!r}?)" if close else repr(text)

    def nearest(self, path: str) -> str:
        """Return the most similar path that exists, or an empty string."""
        return nearest(path.removeprefix("**.").replace("[*]", "[]"), self._attributes) or ""


def provider_notes(rule_sets: Iterable[Rules]) -> list[str]:
    """Return a note if FUZZY or SEMANTIC of strategy files were compared without a model."""
    comparators = [
        getattr(comparator, "inner", comparator)
        for rules in rule_sets
        for comparator in (rules.default, *(rule.comparator for rule in rules.fields))
    ]
    words = {
        comparator.name
        for comparator in comparators
        if comparator is not None
        and comparator.name in _WORDS
        and getattr(getattr(comparator, "provider", None), "name", _BUILT_IN) == _BUILT_IN
    }
    if not words:
        return []
    named = " and ".join(word for word in _WORDS if word in words)
    return [
        f"{named} compared by the built-in similarity, without a model; set a provider to ask one"
    ]


def export_notes(exports: Iterable[ReadExport]) -> list[str]:
    """Return a note for each export of which something was left out.

    >>> export_notes([ReadExport("a.json", "textract", {"form": 3, "signature": 2})])
    ['a.json: 3 forms, 2 signatures not read']
    """
    return [
        f"{file}: {counts_text(left_out)} not read" if file else f"{counts_text(left_out)} not read"
        for file, _, left_out in exports
        if left_out
    ]


def list_notes(lists: Mapping[str, Aligner]) -> list[str]:
    """Return a note for each alignment method, with the lists that it was used for.

    >>> from fieldmark.align.greedy import Greedy
    >>> list_notes({"lines": Greedy(), "taxes": Greedy()})
    ['list items aligned by similarity (greedy, all fields, threshold 0.5): lines, taxes']
    """
    by_method: dict[str, list[str]] = {}
    for path, aligner in lists.items():
        by_method.setdefault(_method(aligner), []).append(path)
    notes: list[str] = []
    for method, paths in by_method.items():
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        notes.append(f"{method}: {', '.join(paths[:_NAMED])}{more}")
    return notes


def _method(aligner: Aligner) -> str:
    match aligner.name:
        case "greedy" | "optimal" | "entries":
            options = cast("Greedy | Optimal | Entries", aligner)
            fields = " and ".join(options.match_fields or ()) or "all fields"
            similarity = options.similarity
            kind = similarity.get("type") if isinstance(similarity, Mapping) else similarity
            measure = "" if kind == "text" else f" by {kind}"
            method = cast("Entries", aligner).method if aligner.name == "entries" else aligner.name
            details = f"{method}, {fields}{measure}, threshold {options.min_similarity:g}"
            items = "values of maps" if aligner.name == "entries" else "list items"
            return f"{items} aligned by similarity ({details})"
        case "key":
            return f"list items aligned by key {' and '.join(cast('Key', aligner).key)}"
        case name:
            return _ALIGNED.get(name, f"list items aligned by {name}")


def with_confidence(
    summary: Summary, tally: ConfidenceTally, options: ConfidenceOptions
) -> Summary:
    """Return the summary with the confidences of a run, and a warning if there are none."""
    confidence = summarize_confidence(tally, options)
    fields, without = confidence.pooled.fields, confidence.pooled.without_confidence
    only_values = options.value is not None and options.confidence is None
    if not fields or without < fields or only_values:
        return replace(summary, confidence=confidence)
    warning = "no prediction has a confidence that could be read"
    return replace(summary, confidence=confidence, warnings=(*summary.warnings, warning))
