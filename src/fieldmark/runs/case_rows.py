"""Rows of `results.jsonl`: everything about a case as one line of strict JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, TypeGuard, cast

import orjson

from fieldmark.compare.prompt_injection import INJECTION_NOTE
from fieldmark.evaluators.base import SAFETY, EvaluatorResult, Score, Status
from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.counts import ErrorCounts
from fieldmark.metrics.quality import QualityCounts
from fieldmark.metrics.rates import Rates, rates
from fieldmark.model.case import Case, CaseContext, CaseInput, Verdict
from fieldmark.model.comparison import Comparison
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.kernel import COMPILED, kernel, unparsed
from fieldmark.model.outcome import Outcome, Reason, fact_of
from fieldmark.model.outcomes import ItemMark, Outcomes
from fieldmark.runs.attribute_table import RowNumbers, StoredAttributes
from fieldmark.runs.case_result import FLAGS, NON_FINITE, CaseResult, with_parsed_documents
from fieldmark.values.annotations import Choices, Description, Range
from fieldmark.values.json_text import finite_json, read_json, strict_json
from fieldmark.values.records import from_json, to_json

if TYPE_CHECKING:
    from fieldmark.model.kernel._kernel import Document


_CACHED: Final = 4096
_CACHED_RECORDS: Final = 8192
_CACHED_BYTES: Final = 1024
"""Longer records belong to cases that rarely repeat."""
_SCORE: Final = b',"score":'
_CELLS: Final = b',"cells":'
"""The key of a record after its statistics."""
_EXPECTED: Final = b',"expected":'
_CANDIDATE: Final = b',"candidate":'
_ROW_END: Final = b"}\n"
_STARTS: Final = frozenset({"case_id", "segment"})
"""The keys of a row before its score."""
PLAIN_START: Final = re.compile(rb'\{"case_id":"([ !#-\[\]-~]*)"(?=,"score":)')
"""The start of a row with an id in printable ASCII without escapes."""
_NO_CONTEXT: Final = CaseContext()
_COMMON: Final = (CaseInput.OK, "", "", (), None)
"""The input, note, source, tags and context of most cases."""
_QUOTING: Final = re.compile(r" \(([^():]+): .*\)\Z", re.DOTALL)
"""A remark after a path that may quote a value, such as an error."""


_Share: TypeAlias = Annotated[float | None, Range(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """A row of `results.jsonl`; later versions may add keys.

    Rows are written and read by the million, so `CaseEncoder` and `CaseDecoder` do it without
    creating these records. The tests compare both.
    """

    case_id: Annotated[str, Description("The id of the case.")]
    segment: Annotated[
        tuple[int, ...] | Missing,
        Description("[number, rows]: the number of the segment and its number of rows."),
    ] = MISSING
    score: Annotated[_Share, Description("The score, or null if the evaluation failed.")]
    verdict: Verdict | None
    status: Status
    counts: Annotated[Counts | Missing, Description("Counts of fields under the convention.")] = (
        MISSING
    )
    errors_by_type: ErrorCounts | Missing = MISSING
    quality: Annotated[
        QualityCounts | Missing, Description("Counts of keys for the response quality score.")
    ] = MISSING
    totals: Annotated[
        tuple[int, ...] | Missing,
        Description("[hits, misses, skipped, errors]: counts of fields, or of evaluator entries."),
    ] = MISSING
    vacuous: Annotated[
        bool | Missing, Description("The score is vacuous: nothing was compared.")
    ] = MISSING
    safety: Annotated[_Share | Missing, Description("The score of a safety judge.")] = MISSING
    rqs: Annotated[_Share | Missing, Description("The response quality score of an evaluator.")] = (
        MISSING
    )
    failing: Annotated[
        bool | Missing, Description("An evaluator failed the case, even one without weight.")
    ] = MISSING
    rates: Annotated[
        tuple[float | None, ...] | Missing,
        Description("[precision, recall, F1] of the evaluator extraction_metrics."),
    ] = MISSING
    cells: Annotated[
        tuple[int, ...] | Missing,
        Description("One integer per field: attribute number << 7 | outcome and presences."),
    ] = MISSING
    input: Annotated[
        CaseInput | Missing,
        Description("How the case was read, if a document is missing or invalid."),
    ] = MISSING
    note: str | Missing = MISSING
    parsed_from: Annotated[
        str | Missing,
        Choices(lambda: ("fence", "text", "repaired")),
        Description("Where the JSON was found in the model output, or that it was repaired."),
    ] = MISSING
    tags: tuple[str, ...] | Missing = MISSING
    metadata: Annotated[JsonObject | Missing, Description("The metadata of the case.")] = MISSING
    usage: Annotated[
        JsonObject | Missing,
        Description("The model that produced the prediction, its tokens, cost and response time."),
    ] = MISSING
    comparisons: Annotated[
        tuple[tuple[JsonValue, ...], ...] | Missing,
        Description("[position, similarity, score, reason, flags, note] of fields with details."),
    ] = MISSING
    items: Annotated[
        tuple[tuple[JsonValue, ...], ...] | Missing,
        Description(
            "[position, list, expected index, candidate index, similarity] of aligned items; "
            "entries of a map have keys instead of indexes."
        ),
    ] = MISSING
    fallback: Annotated[
        bool | Missing, Description("A list was too long for the requested aligner.")
    ] = MISSING
    confidence: Annotated[
        tuple[tuple[JsonValue, ...], ...] | Missing,
        Description(
            "[position, confidence or null] of the values of the prediction, in a run with "
            "confidences."
        ),
    ] = MISSING
    expected: Annotated[JsonValue | Missing, Description("The ground truth.")] = MISSING
    candidate: Annotated[JsonValue | Missing, Description("The prediction.")] = MISSING
    non_finite: Annotated[
        tuple[int, ...] | Missing,
        Description("The positions of fields whose value in the prediction was no finite number."),
    ] = MISSING
    hits: Annotated[tuple[str, ...] | Missing, Description("Fields that match.")] = MISSING
    misses: Annotated[tuple[str, ...] | Missing, Description("Mistakes, with the reason.")] = (
        MISSING
    )
    reasoning: str | Missing = MISSING
    evaluator_results: tuple[EvaluatorResult, ...] | Missing = MISSING


class CaseEncoder:
    """Turns case results into lines.

    Cases with the same outcomes share their statistics, so that part of a line is cached. Without
    `values`, nothing that may quote a document is written, except the details of an evaluator.
    """

    __slots__ = ("_cache", "_values", "numbers")

    def __init__(self, numbers: RowNumbers, *, values: bool = True) -> None:
        self.numbers = numbers
        self._values = values
        self._cache: dict[int, tuple[CaseStats, list[int], bytes]] = {}

    def encode(
        self, segment: int, results: Sequence[CaseResult], *, non_finite: bool = False
    ) -> list[bytes]:
        """Return the lines of a segment; the first line contains its number and length.

        `non_finite` says that candidates may contain NaN or infinite numbers, which are then
        written as strings.
        """
        self.numbers.begin_segment([result.outcomes for result in results])
        lines: list[bytes] = []
        lists, row = self.numbers.lists, kernel.row if COMPILED and self._values else None
        for result in results:
            case, outcomes = result.case, result.outcomes
            line = None
            # The kernel can write the same as `_line` for two unparsed documents.
            if (
                row is not None
                and case.unparsed is not None
                and case[3:8] == _COMMON
                and not (outcomes.fallback or result.non_finite or result.evaluator_results)
                and result.overall is None
                and result.confidences is None
            ):
                documents = case.unparsed
                record = self._record(result)
                line = row(case.id, record, outcomes.comparisons, outcomes.items, lists, *documents)
            lines.append(line or self._line(result, non_finite=non_finite))
        if lines:
            head, comma, ending = lines[0].partition(b',"score":')
            mark = b',"segment":[%d,%d]' % (segment, len(lines))
            lines[0] = b"".join((head, mark, comma, ending))
        return lines

    def _line(self, result: CaseResult, *, non_finite: bool) -> bytes:
        case, outcomes = result.case, result.outcomes
        values = self._values and result.has_values
        parts = [b'{"case_id":', strict_json(case.id), self._record(result)]
        if case.input is not CaseInput.OK:
            parts += [b',"input":', strict_json(case.input.value)]
            if values:
                parts += [b',"note":', strict_json(case.note)]
        if case.parsed_from:
            parts += [b',"parsed_from":', strict_json(case.parsed_from)]
        if case.tags:
            parts += [b',"tags":', strict_json(case.tags)]
        if case.context is not None:
            if values and case.context.metadata:
                parts += [b',"metadata":', strict_json(case.context.metadata)]
            if case.context.usage is not None:
                parts += [b',"usage":', strict_json(case.context.usage)]
        if outcomes.comparisons:
            comparisons = [
                _comparison(position, comparison, notes=values)
                for position, comparison in outcomes.comparisons.items()
            ]
            parts += [b',"comparisons":', strict_json(comparisons)]
        if outcomes.items:
            parts += [b',"items":', strict_json(self.numbers.items(outcomes.items))]
        if outcomes.fallback:
            parts.append(b',"fallback":true')
        if result.confidences is not None:
            parts += [b',"confidence":', strict_json([*map(list, result.confidences.items())])]
        if values:
            expected, candidate = case.unparsed or (case.expected, case.candidate)
            parts += [b',"expected":', _document_json(expected)]
            if candidate is not MISSING:
                text = _document_json(candidate)
                # If non-finite numbers were read, one may have been written as null.
                odd = non_finite and b"null" in text and unparsed(candidate) is None
                parts += [b',"candidate":', finite_json(candidate) if odd else text]
                non_finite_fields = result.non_finite
                if odd:
                    fields = enumerate(with_parsed_documents(result).iter_fields())
                    non_finite_fields = frozenset(
                        position for position, field in fields if NON_FINITE in field.finite().flags
                    )
                if non_finite_fields:
                    parts += [b',"non_finite":', strict_json(sorted(non_finite_fields))]
        if result.overall is not None or result.evaluator_results:
            evaluations: dict[str, object] = {}
            if values and result.overall is not None:
                overall = result.overall
                evaluations |= {"hits": overall.hits, "misses": overall.misses}
                evaluations |= {"reasoning": overall.reasoning}
            evaluations["evaluator_results"] = [
                _evaluator_result(evaluation, values=values)
                for evaluation in result.evaluator_results
            ]
            parts += [b",", finite_json(evaluations)[1:-1]]
        parts.append(b"}\n")
        return b"".join(parts)

    def _record(self, result: CaseResult) -> bytes:
        stats, cells = result.stats, result.outcomes.cells
        known = self._cache.get(id(stats))
        if known is not None and known[1] == cells:
            return known[2]
        head = {"score": stats.score, "verdict": stats.verdict, "status": result.status}
        totals = stats.hits, stats.misses, stats.skipped, stats.errors_count
        record: dict[str, object] = {}
        if stats.vacuous:
            record["vacuous"] = True
        if stats.safety is not None:
            record["safety"] = stats.safety
        if stats.rqs is not None:
            record["rqs"] = stats.rqs
        if stats.failing:
            record["failing"] = True
        own = stats.precision, stats.recall, stats.f1
        if stats.evaluator_rates:
            record["rates"] = own
        record["cells"] = self.numbers.cells(cells)
        sums = _sums_json(stats.counts, stats.errors, stats.quality, totals)
        text = b",".join((b"", orjson.dumps(head)[1:-1], sums, orjson.dumps(record)[1:-1]))
        if len(text) <= _CACHED_BYTES:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            self._cache[id(stats)] = stats, cells, text
        return text


@lru_cache(maxsize=_CACHED)
def _sums_json(
    counts: Counts, errors: ErrorCounts, quality: QualityCounts, totals: tuple[int, ...]
) -> bytes:
    """Return the sums of a case as members of its record; many cases have the same."""
    record = {
        "counts": counts._asdict(),
        "errors_by_type": errors._asdict(),
        "quality": quality._asdict(),
        "totals": totals,
    }
    return orjson.dumps(record)[1:-1]


def _document_json(document: JsonValue | Missing | Document) -> bytes:
    """Return a document as `strict_json`: its own bytes if they are the same."""
    line = unparsed(document)
    return strict_json(document) if line is None else line.canonical or strict_json(line.value())


def _comparison(position: int, comparison: Comparison, *, notes: bool) -> list[object]:
    """Return [position, similarity, score, reason, flags, note]; a note may quote a value."""
    flags = [name for name in FLAGS if getattr(comparison, name)]
    judged = comparison.similarity, comparison.score, comparison.reason
    row: list[object] = [position, *judged, flags]
    note = comparison.note if notes or comparison.note == INJECTION_NOTE else ""
    return [*row, note] if note else row


def _evaluator_result(result: EvaluatorResult, *, values: bool) -> JsonObject:
    """Return the result as JSON; without values, only what cannot quote a document."""
    row = to_json(result)
    if values:
        return row
    shown = {key: value for key, value in row.items() if key not in {"details", "reasoning"}}
    if result.paths_only:
        misses: list[JsonValue] = [_QUOTING.sub(r" (\1)", miss) for miss in result.score.misses]
        return {**shown, "misses": misses}
    return {key: value for key, value in shown.items() if key not in {"hits", "misses", "skipped"}}


def segment_of(row: JsonObject) -> tuple[int, int] | None:
    """Return the number and length of the segment that starts with a row, if one does."""
    match row.get("segment"):
        case [int(number), int(rows)] if number >= 0 and rows > 0:
            return number, rows
        case _:
            return None


def divide_row(line: bytes) -> tuple[str, int | None, bytes, int] | None:
    """Divide a row as `CaseEncoder` writes it, without parsing it.

    Returns its id, the number of the segment that it starts, its record, and where its documents
    begin, or -1 if it has none. The record is the row without its id and documents. Any other row
    gives `None`; if the record is not complete, it is such a row as well.
    """
    # In JSON text, a comma before a quote ends no string, so these are keys: of the row, if the
    # text between them is complete.
    plain = PLAIN_START.match(line)
    middle = line.find(_SCORE) if plain is None else plain.end()
    end = line.find(_EXPECTED, middle)
    if middle < 0 or not line.endswith(_ROW_END):
        return None
    record = line[middle : end if end >= 0 else -len(_ROW_END)]
    if plain is not None:
        return plain[1].decode(), None, record, end
    try:
        start = read_json(line[:middle] + b"}")
    except ValueError:
        return None
    if not isinstance(start, dict) or "case_id" not in start or not _STARTS.issuperset(start):
        return None
    segment = segment_of(start)
    return str(start["case_id"]), None if segment is None else segment[0], record, end


def record_to_row(record: bytes, case_id: str | None = None) -> JsonObject:
    """Parse a record as a row without documents, or raise `ValueError`.

    Without an id, it may be the rest of a record.
    """
    row = read_json(b"{%b}" % record[1:])
    if not isinstance(row, dict) or not _STARTS.isdisjoint(row):
        raise ValueError("the keys of a row must be in order")
    return row if case_id is None else {"case_id": case_id, **row}


class CaseDecoder:
    """Turns lines as `CaseEncoder` writes them into results.

    Cases with the same record share their outcomes and statistics, which nothing may change.
    Because they then have the same cells, `Tally` may count the cells of each of these statistics
    once.

    Documents are left `unparsed` on request, if the kernel can check them. `prepare` is applied to
    each of the shared results, which have no id and no documents.
    """

    __slots__ = ("_attributes", "_convention", "_known", "_prepare", "_statistics", "_unparsed")

    def __init__(
        self,
        attributes: StoredAttributes,
        convention: Convention,
        *,
        unparsed: bool = False,
        prepare: Callable[[CaseResult], CaseResult] | None = None,
    ) -> None:
        self._attributes = attributes
        self._convention = convention
        self._known: dict[bytes, CaseResult] = {}
        self._statistics: dict[bytes, tuple[JsonObject, CaseStats]] = {}
        self._prepare = prepare
        self._unparsed = unparsed and COMPILED

    def decode(self, line: bytes) -> tuple[int | None, CaseResult] | None:
        """Return a result, with the number of the segment that it starts, if it starts one.

        Any other line gives `None`: it must be parsed as a whole, and may be invalid.
        """
        divided = kernel.divide_row(line, MISSING) if self._unparsed else None
        try:
            if divided is not None:
                case_id, record, documents = divided
                like = self._known.get(record) or self._record(record)
                case = Case(case_id, None, MISSING, *like.case[3:8], documents)
                return None, _with_case(like, case, has_values=True)
            parts = divide_row(line)
            if parts is None:
                return None
            case_id, segment, record, end = parts
            like = self._known.get(record) or self._record(record)
            if end < 0:
                return segment, _with_case(like, like.case._replace(id=case_id), has_values=False)
            truth, key, answer = line[end + len(_EXPECTED) : -len(_ROW_END)].partition(_CANDIDATE)
            candidate = read_json(answer) if key else MISSING
            case = Case(case_id, read_json(truth), candidate, *like.case[3:8])
            return segment, _with_case(like, case, has_values=True)
        except (KeyError, TypeError, ValueError, IndexError):
            return None

    def _record(self, record: bytes) -> CaseResult:
        """Decode a record as the row of a case without id and documents."""
        head, key, tail = record.partition(_CELLS)
        known = self._statistics.get(head)
        if known is None:
            if len(self._statistics) >= _CACHED:
                self._statistics.clear()
            row = record_to_row(head, "")
            known = self._statistics[head] = row, _stats(row, self._convention)
        row, stats = known
        outcomes = record_to_row(key + tail)
        if not row.keys().isdisjoint(outcomes):
            raise ValueError("the keys of a row must be in order")
        own = CaseStats(*stats)  # other cells may have the same statistics
        decoded = case_from_json({**row, **outcomes}, self._attributes, self._convention, own)
        if self._prepare is not None:
            decoded = self._prepare(decoded)
        if len(record) <= _CACHED_BYTES:
            if len(self._known) >= _CACHED_RECORDS:
                self._known.clear()
            self._known[record] = decoded
        return decoded


def _with_case(like: CaseResult, case: Case, *, has_values: bool) -> CaseResult:
    """Return a result for another case with the same record."""
    return CaseResult(
        case,
        like.outcomes,
        like.stats,
        like.attributes,
        like.convention,
        like.evaluator_results,
        like.overall,
        has_values,
        like.non_finite,
        like.confidences,
    )


def case_from_json(
    row: JsonObject,
    attributes: StoredAttributes,
    convention: Convention,
    stats: CaseStats | None = None,
) -> CaseResult:
    """Parse a row; an invalid one raises ValueError, KeyError, TypeError or IndexError.

    `stats` are its statistics, if they are known.
    """
    evaluators = row.get("evaluator_results")
    results: tuple[EvaluatorResult, ...] = ()
    overall = None
    if isinstance(evaluators, list):
        results = tuple(from_json(EvaluatorResult, evaluator) for evaluator in evaluators)
        if not results or any(result.type != SAFETY for result in results):
            overall = from_json(Score, row)
    cells, comparisons, items = row["cells"], row.get("comparisons", []), row.get("items", [])
    if not _are_cells(cells) or not isinstance(comparisons, list) or not isinstance(items, list):
        raise ValueError("cells, comparisons and items must be arrays")
    outcomes = Outcomes(
        cells=attributes.cells(cells),
        comparisons=dict(_comparison_from_json(comparison, cells) for comparison in comparisons),
        items=[_item(item, attributes) for item in items],
        fallback=row.get("fallback") is True,
    )
    non_finite = row.get("non_finite")
    return CaseResult(
        case_of_row(row),
        outcomes,
        _stats(row, convention) if stats is None else stats,
        attributes.table,
        convention,
        results,
        overall,
        "expected" in row,
        frozenset(non_finite) if _are_cells(non_finite) else frozenset(),
        _confidences(row.get("confidence"), len(cells)),
    )


def _confidences(stored: JsonValue, fields: int) -> dict[int, float | None] | None:
    if stored is None:
        return None
    confidences: dict[int, float | None] = {}
    for part in stored if isinstance(stored, list) else [stored]:
        match part:
            case [int(position), None] if 0 <= position < fields:
                confidences[position] = None
            case [int(position), float() | int() as confidence] if 0 <= position < fields:
                if isinstance(confidence, bool) or not 0 <= confidence <= 1:
                    raise ValueError("a confidence must be null or between 0 and 1")
                confidences[position] = float(confidence)
            case _:
                raise ValueError("a confidence must have the position of a field")
    return confidences


def case_of_row(row: JsonObject) -> Case:
    """Return the case of a row, without its outcomes; documents that were not saved are absent."""
    tags, metadata, usage = row.get("tags"), row.get("metadata"), row.get("usage")
    context = CaseContext(
        metadata=metadata if isinstance(metadata, dict) else None,
        usage=usage if isinstance(usage, dict) else None,
    )
    return Case(
        id=str(row["case_id"]),
        expected=row.get("expected"),
        candidate=row["candidate"] if "candidate" in row else MISSING,  # noqa: SIM401 - types
        input=CaseInput(str(row["input"])) if "input" in row else CaseInput.OK,
        note=str(row.get("note", "")),
        parsed_from=str(row.get("parsed_from", "")),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
        context=context if context != _NO_CONTEXT else None,
    )


def _stats(row: JsonObject, convention: Convention) -> CaseStats:
    counts = Counts(**_numbers(row["counts"]))
    score, verdict, safety = row["score"], row["verdict"], row.get("safety")
    match row["totals"]:
        case [int(hits), int(misses), int(skipped), int(errors)]:
            totals = hits, misses, skipped, errors
        case _:
            raise ValueError("totals must be four numbers")
    match row.get("rates"):
        case None:
            own = rates(counts, convention.counting)
        case [precision, recall, f1]:
            own = Rates(*map(_optional_number, (precision, recall, f1)))
        case _:
            raise ValueError("rates must be three numbers or null")
    return CaseStats(
        counts,
        ErrorCounts(**_numbers(row["errors_by_type"])),
        QualityCounts(**_numbers(row["quality"])),
        *own,
        _optional_number(score),
        Verdict(verdict) if isinstance(verdict, str) else None,
        *totals,
        row.get("vacuous") is True,
        _optional_number(safety),
        _optional_number(row.get("rqs")),
        failing=row.get("failing") is True,
        evaluator_rates="rates" in row,
    )


def _optional_number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _numbers(value: JsonValue) -> dict[str, int]:
    if not isinstance(value, dict):
        raise TypeError("counts must be an object")
    return {name: number for name, number in value.items() if isinstance(number, int)}


def _are_cells(cells: JsonValue) -> TypeGuard[list[int]]:
    if not isinstance(cells, list) or not {int}.issuperset(map(type, cells)):
        return False
    return min(cast("list[int]", cells), default=0) >= 0


def _comparison_from_json(stored: JsonValue, cells: list[int]) -> tuple[int, Comparison]:
    match stored:
        case [int(position), similarity, float() | int() as score, reason, [*flags], *note]:
            known = similarity if isinstance(similarity, int | float) else None
            named = reason if isinstance(reason, str) else None
            comparison_flags = tuple(flag for flag in FLAGS if flag in flags) if flags else ()
            outcome = fact_of(cells[position])[0]
            return position, _known_comparison(
                outcome, known, score, named, comparison_flags, str(note[0]) if note else ""
            )
        case _:
            raise ValueError(
                "a comparison must have a position, a similarity, a score, a reason and flags"
            )


@lru_cache(maxsize=_CACHED)
def _known_comparison(
    outcome: Outcome,
    similarity: float | None,
    score: float,
    reason: str | None,
    flags: tuple[str, ...],
    note: str,
) -> Comparison:
    """Return a comparison; many fields have the same."""
    return Comparison(
        matched=outcome is Outcome.MATCH,
        score=float(score),
        similarity=None if similarity is None else float(similarity),
        reason=None if reason is None else Reason(reason),
        wrong_kind=outcome is Outcome.FORMAT_ERROR,
        failed=outcome is Outcome.ERROR,
        **dict.fromkeys(flags, True),
        note=note,
    )


def _item(stored: JsonValue, attributes: StoredAttributes) -> ItemMark:
    match stored:
        case [
            int(start),
            int(number),
            int() | str() | None as expected,
            int() | str() | None as candidate,
            value,
        ]:
            similarity = float(value) if isinstance(value, int | float) else None
            return start, attributes.list_path(number), expected, candidate, similarity
        case _:
            raise ValueError("an item must have a start, a list, two indexes and a similarity")
