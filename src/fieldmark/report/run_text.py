"""What a run shows in a terminal, and the same as plain text for a file or a pipe.

Rich takes longer to load and to lay out a table than scoring a few documents, so it is only used
for a terminal, and for text that is wide or does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from fieldmark.metrics.headline import QUALITY_METRICS, SHORT_TITLES, flag_text
from fieldmark.metrics.summary import BY_CASE_EVALUATOR, QUALITY_EVALUATOR, Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.tables import (
    DASH,
    TOP_HINT,
    AttributeRow,
    attribute_rows,
    gate_line,
    more_text,
    number,
    outcome_text,
    slice_metrics,
    slice_rows,
    split_warnings,
)
from fieldmark.values.escape import visible
from fieldmark.values.text import plural

if TYPE_CHECKING:
    from fieldmark.metrics.confidence import ConfidenceFigures, ConfidenceSummary

__all__ = [
    "ATTRIBUTE_COLUMNS",
    "TABLE_GAP",
    "AttributeColumn",
    "ScoreTable",
    "StyledText",
    "confidence_tables",
    "coverage_line",
    "run_text",
    "score_style",
    "score_tables",
    "seconds_per_call",
    "slice_tables",
    "styled_count",
    "target_usage",
    "usage_lines",
]

StyledText: TypeAlias = tuple[str, str]
"""Text and its style in a terminal."""

_BAR: Final = 10
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_GOOD: Final = 0.9
_FAIR: Final = 0.6
_MISTAKES: Final = ("wrong_value", "format_error", "omission", "hallucination")
_CHAT_TARGET: Final = "chat"
"""The name of a model that is a target, among the models that a run called."""
TABLE_GAP: Final = 4
"""The space between tables that are side by side."""
_NARROW: Final = str.maketrans("", "", f"{_EIGHTHS}·…{DASH}")
"""Drops the characters beyond ASCII that are as wide as a letter."""


class ScoreTable(NamedTuple):
    """A small table: names, then columns of numbers, then notes if there are any."""

    titles: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    has_notes: bool = False


class AttributeColumn(NamedTuple):
    """A column beside the names, shown in terminals of at least `min_terminal_width`."""

    title: str
    cell: Callable[[AttributeRow], StyledText]
    min_terminal_width: int = 0
    justify: Literal["left", "right"] = "right"
    min_width: int | None = None
    shrinks: bool = False


def styled_count(value: int) -> StyledText:
    """Return a count; zero is a dot."""
    return (str(value), "") if value else ("·", "dim")


def score_style(value: float | None) -> str:
    """Return the color of a score."""
    if value is None:
        return "dim"
    return "green" if value >= _GOOD else "yellow" if value >= _FAIR else "red"


def _f1(row: AttributeRow) -> StyledText:
    wrong = row.f1 is None and (row.fp or row.fn or row.errors)
    return number(row.f1), "red" if wrong else score_style(row.f1)


def _bar(row: AttributeRow) -> StyledText:
    """Draw F1 as a bar, in eighths of a character: 0 has the shortest bar, undefined has none."""
    if row.f1 is None:
        return "", ""
    full, part = divmod(max(1, round(row.f1 * _BAR * 8)), 8)
    return "█" * full + (_EIGHTHS[part] if part else ""), score_style(row.f1)


def _mistakes(row: AttributeRow) -> StyledText:
    counts = ((getattr(row, name), outcome_text(name)) for name in _MISTAKES)
    parts = [f"{count} {text}" for count, text in counts if count]
    parts += [plural(row.errors, "error")] if row.errors else []
    if row.f1 is not None and not (row.tp or row.fp or row.fn):
        parts.append("vacuous")
    return ", ".join(parts), "dim"


ATTRIBUTE_COLUMNS: Final = (
    AttributeColumn(title="TP", cell=lambda row: styled_count(row.tp)),
    AttributeColumn(title="TN", cell=lambda row: styled_count(row.tn), min_terminal_width=60),
    AttributeColumn(title="FP", cell=lambda row: styled_count(row.fp)),
    AttributeColumn(title="FN", cell=lambda row: styled_count(row.fn)),
    AttributeColumn(
        title="Precision", cell=lambda row: (number(row.precision), ""), min_terminal_width=50
    ),
    AttributeColumn(
        title="Recall", cell=lambda row: (number(row.recall), ""), min_terminal_width=50
    ),
    AttributeColumn(title="F1", cell=_f1),
    AttributeColumn(title="", cell=_bar, min_terminal_width=90, justify="left", min_width=_BAR),
    AttributeColumn(
        title="Mistakes", cell=_mistakes, min_terminal_width=70, justify="left", shrinks=True
    ),
)


def score_tables(summary: Summary) -> tuple[list[ScoreTable], str]:
    """Return scores, mistakes and quality, those of the primary metric first, and a formula."""
    macro, micro, quality = summary.macro, summary.micro, summary.quality
    rqs_leads = next(iter(summary.metrics)) == "rqs"
    # With evaluators, the convention only counts fields; the evaluators score the cases.
    scorer = " (evaluators)" if summary.evaluators else ""
    by_case, rater = (
        " (evaluators)" if option in summary.convention.options else ""
        for option in (BY_CASE_EVALUATOR, QUALITY_EVALUATOR)
    )
    scores = {
        "mean_score": (f"mean score{scorer}", "", "", number(summary.mean_score)),
        "macro_f1_by_attribute": ("macro by attribute", *map(number, macro.by_attribute[:3])),
        "macro_f1_by_case": (f"macro by case{by_case}", *map(number, macro.by_case[:3])),
        "micro_f1": (
            "micro (all fields pooled)",
            *map(number, (micro.precision, micro.recall, micro.f1)),
        ),
    }
    qualities = {name: (name, number(getattr(quality, name))) for name in QUALITY_METRICS[:-1]}
    has_rqs = rqs_leads or "safety" not in summary.flags
    if has_rqs:
        maximum = number(quality.rqs_max, 2)
        qualities["rqs"] = ("RQS", f"{number(quality.rqs)} of {maximum}")
    else:
        del qualities["safety"]  # nothing was judged
    counts = summary.errors_by_type._asdict().items()
    title = f"Scores ({summary.convention.name})"
    tables = [
        _noted_table(summary, (title, "Precision", "Recall", "F1"), scores),
        ScoreTable(("Mistakes", ""), [(outcome_text(name), str(count)) for name, count in counts]),
        _noted_table(summary, (f"Quality{rater}", ""), qualities),
    ]
    return tables[::-1] if rqs_leads else tables, summary.rqs_formula if has_rqs else ""


def slice_tables(summary: Summary, *, top: int | None) -> Iterator[tuple[ScoreTable, str]]:
    """Yield a table for each key of slices, the weakest first, and a line below it."""
    if not summary.slice_groups():
        return  # most runs have no slices, and need nothing that is loaded below
    shown = slice_metrics(summary)
    has_intervals = summary.intervals is not None
    titles = [SHORT_TITLES[name] for name in shown]
    if has_intervals:
        titles.insert(1, "95% CI")
    means = summary.group_means()
    for key, rows in slice_rows(summary).items():
        cells: list[tuple[str, ...]] = []
        for row in rows[:top]:
            metrics = list(map(number, row.metrics))
            if has_intervals:
                metrics.insert(1, " to ".join(map(number, row.interval or ())) or DASH)
            notes = (*row.notes, *(["few cases"] if row.few else []))
            cells.append((visible(row.value), f"{row.cases:,}", *metrics, ", ".join(notes)))
        below: list[str] = []
        if top is not None and len(rows) > top:
            below.append(more_text(len(rows) - top, "slice"))
        over = means[key]
        if over.deviation:
            listed = (
                f"{SHORT_TITLES[name]} {number(over.mean[name])} ± {number(over.deviation[name])}"
                for name in shown
                if name in over.deviation
            )
            below.append(f"mean ± standard deviation of {over.slices} slices: {', '.join(listed)}")
        title = visible(f"Slices by {key}")
        yield ScoreTable((title, "Cases", *titles, ""), cells, has_notes=True), "\n".join(below)


def _noted_table(
    summary: Summary, titles: tuple[str, ...], rows: Mapping[str, tuple[str, ...]]
) -> ScoreTable:
    """Return rows by metric in the order of the run, each with a note such as "vacuous"."""
    notes = {name: flag_text(summary.flags.get(name, ())) for name in rows}
    has_notes = any(notes.values())
    ordered = sorted(rows, key=[*summary.metrics, *rows].index)
    shown = [(*rows[name], *([notes[name]] if has_notes else [])) for name in ordered]
    return ScoreTable((*titles, *([""] if has_notes else [])), shown, has_notes)


def confidence_tables(
    confidence: ConfidenceSummary, *, top: int | None = None
) -> tuple[list[ScoreTable], list[str]]:
    """Return a table of the confidences, one for each target precision, and lines about them."""
    figures = [("all fields", confidence.pooled), *_by_confidence(confidence)[:top]]
    tables = [
        ScoreTable(
            ("Confidence", "Fields", "Without", "Wrong", "AUROC", "ECE", "Brier"),
            [
                (
                    visible(name),
                    *(f"{each:,}" for each in (own.fields, own.without_confidence, own.wrong)),
                    *map(number, (own.auroc, own.ece, own.brier)),
                )
                for name, own in figures
            ],
        )
    ]
    lines: list[str] = []
    for key, pooled in confidence.pooled.targets.items():
        rows = [
            (
                visible(name),
                DASH if target.threshold is None else f"{target.threshold:g}",
                *map(number, (target.coverage, target.precision, target.lower_bound)),
                target.note,
            )
            for name, own in figures
            for target in [own.targets[key]]
        ]
        titles = (f"Precision {key}", "Threshold", "Coverage", "Precision", "Lower bound", "")
        tables.append(ScoreTable(titles, rows, has_notes=True))
        accepted = pooled.documents
        if accepted is not None and accepted.documents is not None:
            lines.append(
                f"precision {key}: {accepted.documents:,} of "
                f"{plural(confidence.documents, 'document')} need no review, "
                f"{accepted.perfect or 0:,} of them perfect"
            )
    if without := confidence.pooled.without_confidence:
        of = plural(confidence.pooled.fields, "value")
        lines.append(f"{without:,} of {of} without a confidence, which are always reviewed")
    return tables, lines


def _by_confidence(confidence: ConfidenceSummary) -> list[tuple[str, ConfidenceFigures]]:
    """Return the attributes, those with the most wrong values first."""
    return sorted(confidence.attributes.items(), key=lambda each: (-each[1].wrong, each[0]))


def coverage_line(summary: Summary) -> str:
    """Return how many cases there are, and their verdicts."""
    cases, verdicts = summary.cases, summary.verdicts
    parts = [plural(cases.total, "case"), f"{cases.scored:,} scored", f"{cases.perfect:,} perfect"]
    problems = (
        (cases.missing, "without prediction"),
        (cases.unparseable, "unparseable"),
        (cases.invalid_truth, "with invalid ground truth"),
        (cases.errors, "with errors"),
    )
    parts += [f"{count:,} {text}" for count, text in problems if count]
    if cases.unexpected:
        parts.append(f"{plural(cases.unexpected, 'prediction')} without ground truth")
    counts = f"{verdicts.passed:,} pass, {verdicts.partial:,} partial, {verdicts.failed:,} fail"
    return f"{', '.join(parts)}; verdicts: {counts}"


def target_usage(usage: JsonObject) -> JsonObject:
    """Return the usage of the model that produced the predictions, if there is one."""
    models = usage.get("asked")
    for model in models if isinstance(models, list) else []:
        if isinstance(model, dict) and model.get("name") == _CHAT_TARGET:
            return model
    return {}


def seconds_per_call(usage: JsonObject) -> float | None:
    """Return how long a call of a model took on average."""
    match usage:
        case {"seconds": float() | int() as seconds, "calls": int() as calls} if calls:
            return seconds / calls
        case _:
            return None


def usage_lines(spent: JsonObject, usage: JsonObject) -> Iterator[str]:
    """Yield one line per model: the calls that were paid for, and those from the cache."""
    models = spent.get("asked")
    for model in models if isinstance(models, list) else []:
        if isinstance(model, dict):
            counts = (model.get(key) for key in ("requests", "input_tokens", "output_tokens"))
            calls, tokens_in, tokens_out = (
                f"{count:,}" if isinstance(count, int) else DASH for count in counts
            )
            price = _cost(", cost", model.get("cost"))
            line = f"{model.get('name')} {model.get('model')}: "
            line += f"{calls} calls, {tokens_in} + {tokens_out} tokens{price}"
            replayed = model.get("replayed_calls")
            if isinstance(replayed, int) and replayed:
                price = _cost(", which cost", model.get("replayed_cost"))
                line += f"; cached responses of {plural(replayed, 'call')}{price}"
            if model.get("name") == _CHAT_TARGET:
                own = target_usage(usage)
                served, seconds = own.get("models"), seconds_per_call(own)
                line += (
                    f"; served by {', '.join(map(str, served))}" if isinstance(served, list) else ""
                )
                line += "" if seconds is None else f"; {seconds:.2f} s per call"
            yield line


def _cost(label: str, cost: JsonValue) -> str:
    return f"{label} {cost:.4f}" if isinstance(cost, int | float) else ""


# --- plain text -----------------------------------------------------------------------------------


def run_text(
    summary: Summary, notes: Sequence[str], *, top: int | None, width: int, hint: str = TOP_HINT
) -> str | None:
    """Return `run_view` without styles; `None` if it has other parts or does not fit the width."""
    if summary.evaluators or summary.detection:
        return None
    rows = attribute_rows(summary)
    attributes = _attribute_lines(rows[:top], width)
    tables, formula = score_tables(summary)
    blocks = [_score_lines(table) for table in tables]
    sizes = [len(block[0]) for block in blocks]
    if attributes is None or sum(sizes) + TABLE_GAP * (len(sizes) - 1) > width:
        return None
    structural, others = split_warnings(summary)
    lines = [f"warning: {text}" for text in structural] + [f"· {note}" for note in notes]
    lines = [visible(line) for line in lines] + attributes
    if top is not None and len(rows) > top:
        lines.append(more_text(len(rows) - top, "attribute", hint))
    lines.append("")
    for line in zip_longest(*blocks, fillvalue=""):
        cells = zip(line, sizes, strict=True)
        lines.append((" " * TABLE_GAP).join(cell.ljust(size) for cell, size in cells))
    lines += ["", visible(formula)] if formula else []
    for slices, below in slice_tables(summary, top=top):
        table = _score_lines(slices)
        if len(table[0]) > width or not all(each.translate(_NARROW).isascii() for each in table):
            return None
        lines += ["", *table, *([below] if below else [])]
    if summary.confidence is not None:
        rated, remarks = confidence_tables(summary.confidence, top=top)
        for block in map(_score_lines, rated):
            if len(block[0]) > width:
                return None
            lines += ["", *(line.rstrip() for line in block)]
        lines += ["", *remarks]
    lines += ["", coverage_line(summary)]
    lines += map(visible, usage_lines(summary.spent, summary.usage))
    lines += [visible(gate_line(gate)) for gate in summary.gates]
    lines += [visible(f"warning: {text}") for text in others]
    return "\n".join([*lines, ""])


def _attribute_lines(rows: Sequence[AttributeRow], width: int) -> list[str] | None:
    """Return the table of attributes, or `None` if it is too wide."""
    shown = [column for column in ATTRIBUTE_COLUMNS if width >= column.min_terminal_width]
    columns = [["Attribute", *(visible(row.attribute) for row in rows)]]
    columns += [[column.title, *(column.cell(row)[0] for row in rows)] for column in shown]
    if not all(cell.translate(_NARROW).isascii() for cells in columns for cell in cells):
        return None
    sizes = [max(map(len, cells)) for cells in columns]
    for place, column in enumerate(shown, 1):
        sizes[place] = max(sizes[place], column.min_width or 0)
    if sum(sizes) + len(sizes) - 1 > width:
        return None
    aligned = [
        str.ljust,
        *({"left": str.ljust, "right": str.rjust}[each.justify] for each in shown),
    ]
    return _joined(columns, sizes, aligned, " ")


def _score_lines(table: ScoreTable) -> list[str]:
    columns = [list(cells) for cells in zip(table.titles, *table.rows, strict=True)]
    aligned = [str.ljust, *[str.rjust] * (len(columns) - 1)]
    if table.has_notes:
        aligned[-1] = str.ljust
    return _joined(columns, [max(map(len, cells)) for cells in columns], aligned, "  ")


def _joined(
    columns: Sequence[Sequence[str]],
    sizes: Sequence[int],
    aligned: Sequence[Callable[[str, int], str]],
    gap: str,
) -> list[str]:
    """Return the lines of a table, all equally long."""
    padded = [
        [align(cell, size) for cell in cells]
        for cells, size, align in zip(columns, sizes, aligned, strict=True)
    ]
    return [gap.join(cells) for cells in zip(*padded, strict=True)]
