"""The document of a run: attributes, scores, mistakes, evaluators, slices, coverage and gates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Final, cast

from fieldmark.metrics.confidence import ConfidenceFigures, ConfidenceSummary
from fieldmark.metrics.headline import MAIN_METRIC, QUALITY_METRICS
from fieldmark.metrics.judge_details import (
    CONFUSION,
    MAX_PATHS,
    NUMBERS,
    TRUNCATED,
    confusion_rows,
    number_rows,
)
from fieldmark.metrics.rates import sortable
from fieldmark.metrics.summary import BY_CASE_EVALUATOR, QUALITY_EVALUATOR, Summary
from fieldmark.model.counts import Counts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.document import (
    Align,
    Block,
    Cell,
    Column,
    Document,
    Format,
    Line,
    LineKind,
    Row,
    SideBySide,
    Table,
    Tone,
    note,
    warning,
)
from fieldmark.report.metric_titles import (
    RQS_DIGITS,
    SHORT_TITLES,
    evaluator_note,
    failed_note,
    metric_note,
    range_text,
    rqs_formula,
)
from fieldmark.report.tables import (
    DASH,
    TOP_HINT,
    AttributeRow,
    attribute_rows,
    error_counts,
    evaluator_errors,
    gate_line,
    noted_number,
    number,
    outcome_text,
    slice_metrics,
    slice_rows,
    split_warnings,
)
from fieldmark.values.text import plural

_BAR: Final = 10
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_GOOD: Final = 0.9
_FAIR: Final = 0.6
_MISTAKES: Final = ("wrong_value", "format_error", "omission", "hallucination")
_METRICS_PER_LINE: Final = 6
_HIDDEN_METRICS: Final = frozenset({"classes", "iou_threshold", CONFUSION, NUMBERS, TRUNCATED})
_CHAT_TARGET: Final = "chat"
"""The name of a model that is a target, among the models that a run called."""
_BOUNDS: Final = "bounds"
_CONFUSION_COLUMNS: Final = (
    Column("TP", "tp", Format.COUNT),
    Column("TN", "tn", Format.COUNT, min_terminal=60),
    Column("FP", "fp", Format.COUNT),
    Column("FN", "fn", Format.COUNT),
    Column("Precision", "precision", Format.NUMBER, min_terminal=50),
    Column("Recall", "recall", Format.NUMBER, min_terminal=50),
    Column("F1", "f1", Format.NUMBER),
)
_NUMBER_COLUMNS: Final = (
    Column("Cases", "cases", Format.COUNT),
    Column("Mean", "mean", Format.NUMBER),
    Column("Sum", "sum", Format.NUMBER),
)
_ATTRIBUTE_COLUMNS: Final = (
    Column("Attribute", "attribute", folds=True),
    *_CONFUSION_COLUMNS,
    Column("F1 bounds", _BOUNDS, min_terminal=60),
    Column("", "bar", min_terminal=90, min_width=_BAR),
    Column("Mistakes", "mistakes", tone=Tone.QUIET, min_terminal=70, cuts=True),
)


def run_document(
    summary: Summary, notes: Sequence[str] = (), *, top: int | None = None, hint: str = TOP_HINT
) -> Document:
    """Return all parts of a run.

    Warnings about the structure of the documents come before the numbers. `hint` says how to see
    more than `top` attributes.
    """
    structural, others = split_warnings(summary)
    tables, formula = _score_tables(summary)
    return Document(
        *map(warning, (*structural, *filter(None, [failed_note(summary)]))),
        *map(note, notes),
        attribute_table(summary, top=top, hint=hint),
        SideBySide(tables),
        *([Line(formula)] if formula else ()),
        *(_evaluators(summary) if summary.evaluators else ()),
        *judge_blocks(summary, top=top, hint=hint),
        *([_detection(summary.detection)] if summary.detection else ()),
        *slice_blocks(summary, top=top),
        *(() if summary.confidence is None else confidence_blocks(summary.confidence, top=top)),
        Line(_coverage(summary)),
        *map(Line, usage_lines(summary.spent, summary.usage)),
        *(Line(gate_line(gate), Tone.GOOD if gate.passed else Tone.BAD) for gate in summary.gates),
        *(Line(text, Tone.WARNING, kind=LineKind.WARNING) for text in others),
    )


def attribute_table(summary: Summary, *, top: int | None = None, hint: str = TOP_HINT) -> Table:
    """Return one row per attribute, worst first."""
    return Table(
        name="attributes",
        columns=[
            column
            for column in _ATTRIBUTE_COLUMNS
            if column.key != _BOUNDS or summary.bounds is not None
        ],
        rows=[_attribute_row(row) for row in attribute_rows(summary)],
        top=top,
        noun="attribute",
        hint=hint,
        gap=1,
    )


def _attribute_row(row: AttributeRow) -> Row:
    wrong = row.f1 is None and (row.fp or row.fn or row.errors)
    tone = Tone.BAD if wrong else _score_tone(row.f1)
    bar = ""
    if row.f1 is not None:  # 0 has the shortest bar, undefined has none
        full, part = divmod(max(1, round(row.f1 * _BAR * 8)), 8)
        bar = "█" * full + (_EIGHTHS[part] if part else "")
    counts = ((getattr(row, name), outcome_text(name)) for name in _MISTAKES)
    mistakes = [f"{count} {text}" for count, text in counts if count]
    mistakes += [plural(row.errors, "error")] if row.errors else []
    if row.f1 is not None and not (row.tp or row.fp or row.fn):
        mistakes.append("vacuous")
    return {
        "attribute": row.attribute,
        **{name: _count(getattr(row, name)) for name in ("tp", "tn", "fp", "fn")},
        "precision": row.precision,
        "recall": row.recall,
        "f1": Cell(row.f1, tone=tone),
        _BOUNDS: range_text(row.f1_bounds),
        "bar": Cell(bar, tone=tone),
        "mistakes": ", ".join(mistakes),
    }


def _count(value: int) -> Cell:
    """Return a count; zero is a dot."""
    return Cell(value, str(value)) if value else Cell(0, "·", Tone.QUIET)


def _score_tone(value: float | None) -> Tone:
    """Return the style of a score."""
    if value is None:
        return Tone.QUIET
    return Tone.GOOD if value >= _GOOD else Tone.WARNING if value >= _FAIR else Tone.BAD


def _score_tables(summary: Summary) -> tuple[list[Table], str]:
    """Return scores, mistakes and quality, the primary metric first, and a formula."""
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
        qualities["rqs"] = ("RQS", f"{number(quality.rqs, RQS_DIGITS)} of {maximum}")
    else:
        del qualities["safety"]  # nothing was judged
    counts = summary.errors_by_type._asdict().items()
    title = f"Scores ({summary.convention.name})"
    tables = [
        _noted_table(summary, (title, "Precision", "Recall", "F1"), scores),
        _named_table(
            ("Mistakes", ""), [(outcome_text(name), str(count)) for name, count in counts]
        ),
        _noted_table(summary, (f"Quality{rater}", ""), qualities),
    ]
    return tables[::-1] if rqs_leads else tables, rqs_formula(
        summary.rqs_counting
    ) if has_rqs else ""


def _noted_table(
    summary: Summary, titles: tuple[str, ...], rows: Mapping[str, tuple[str, ...]]
) -> Table:
    """Return rows by metric in the order of the run, each with a note such as "vacuous"."""
    notes = {name: metric_note(summary, name) for name in rows}
    ordered = sorted(rows, key=[*summary.metrics, *rows].index)
    if not any(notes.values()):
        return _named_table(titles, [rows[name] for name in ordered])
    shown = [(*rows[name], notes[name]) for name in ordered]
    return _named_table((*titles, ""), shown, noted=True)


def _named_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, noted: bool = False
) -> Table:
    """Return a small table: names, then columns of numbers, then notes if it is `noted`."""
    last = len(titles) - 1
    columns = [
        Column(
            title,
            str(index),
            align=Align.LEFT if index == 0 or (noted and index == last) else Align.RIGHT,
            folds=index == 0,
        )
        for index, title in enumerate(titles)
    ]
    return Table(
        columns=columns,
        rows=[{str(index): cell for index, cell in enumerate(row)} for row in rows],
    )


def slice_blocks(summary: Summary, *, top: int | None = None) -> Iterator[Block]:
    """Yield a table for each key of slices, the weakest first, and a line below it."""
    if not summary.slice_groups():
        return  # most runs have no slices, and need nothing that is loaded below
    names = slice_metrics(summary)
    interval = [Column("95% CI", "interval", align=Align.RIGHT)]
    metrics = [Column(SHORT_TITLES[name], name, Format.NUMBER) for name in names]
    means = summary.group_means()
    for key, slices in slice_rows(summary).items():
        rows: list[Row] = [
            {
                "slice": row.value,
                "cases": row.cases,
                **dict(zip(names, row.metrics, strict=True)),
                "interval": " to ".join(map(number, row.interval or ())) or DASH,
                "notes": ", ".join((*row.notes, *(["few cases"] if row.few else []))),
            }
            for row in slices
        ]
        columns = (
            Column(f"Slices by {key}", "slice"),
            Column("Cases", "cases", Format.COUNT),
            metrics[0],
            *(interval if summary.intervals is not None else ()),
            *metrics[1:],
            Column("", "notes"),
        )
        yield Table(name="slices", columns=columns, rows=rows, top=top, noun="slice")
        over = means[key]
        if over.deviation:
            listed = (
                f"{SHORT_TITLES[name]} {number(over.mean[name])} ± {number(over.deviation[name])}"
                for name in names
                if name in over.deviation
            )
            text = f"mean ± standard deviation of {over.slices} slices: {', '.join(listed)}"
            yield Line(text, Tone.QUIET)


def confidence_blocks(confidence: ConfidenceSummary, *, top: int | None = None) -> Iterator[Block]:
    """Yield a table of the confidences, one for each target precision, and lines about them."""
    by_wrong = sorted(confidence.attributes.items(), key=lambda item: (-item[1].wrong, item[0]))
    figures: list[tuple[str, ConfidenceFigures]] = [
        ("all fields", confidence.pooled),
        *by_wrong[:top],
    ]
    yield Table(
        name="confidence",
        columns=(
            Column("Confidence", "attribute", folds=True),
            Column("Fields", "fields", Format.COUNT),
            Column("Without", "without", Format.COUNT),
            Column("Wrong", "wrong", Format.COUNT),
            Column("AUROC", "auroc", Format.NUMBER),
            Column("ECE", "ece", Format.NUMBER),
            Column("Brier", "brier", Format.NUMBER),
        ),
        rows=[
            {
                "attribute": name,
                "fields": attribute_figures.fields,
                "without": attribute_figures.without_confidence,
                "wrong": attribute_figures.wrong,
                "auroc": attribute_figures.auroc,
                "ece": attribute_figures.ece,
                "brier": attribute_figures.brier,
            }
            for name, attribute_figures in figures
        ],
    )
    lines: list[Line] = []
    for key, pooled in confidence.pooled.targets.items():
        targets = [(name, attribute_figures.targets[key]) for name, attribute_figures in figures]
        yield Table(
            name="targets",
            columns=(
                Column(f"Precision {key}", "attribute", folds=True),
                Column("Threshold", "threshold", Format.NUMBER),
                Column("Coverage", "coverage", Format.NUMBER),
                Column("Precision", "precision", Format.NUMBER),
                Column("Lower bound", "lower_bound", Format.NUMBER),
                Column("", "note"),
            ),
            rows=[
                {
                    "attribute": name,
                    "threshold": Cell(
                        target.threshold,
                        None if target.threshold is None else f"{target.threshold:g}",
                    ),
                    "coverage": target.coverage,
                    "precision": target.precision,
                    "lower_bound": target.lower_bound,
                    "note": target.note,
                }
                for name, target in targets
            ],
        )
        accepted = pooled.documents
        if accepted is not None and accepted.documents is not None:
            documents = plural(confidence.documents, "document")
            lines.append(
                Line(
                    f"precision {key}: {accepted.documents:,} of {documents} need no review, "
                    f"{accepted.perfect or 0:,} of them perfect"
                )
            )
    if without := confidence.pooled.without_confidence:
        of = plural(confidence.pooled.fields, "value")
        lines.append(Line(f"{without:,} of {of} without a confidence, which are always reviewed"))
    yield from lines


def _evaluators(summary: Summary) -> Iterator[Block]:
    """Yield one line per evaluator, then its metrics over all cases."""
    verdicts = ("pass", "partial", "fail", "errors")
    rows: list[Row] = []
    lines: list[Line] = []
    for name, evaluator in summary.evaluators.items():
        mean = evaluator.mean_score
        counts = map(_count, (*evaluator.verdicts, evaluator.errors))
        rows.append(
            {
                "evaluator": name,
                "mean_score": Cell(
                    mean,
                    noted_number(mean, evaluator_note(evaluator)),
                    _score_tone(None if evaluator.is_vacuous else mean),
                ),
                **dict(zip(verdicts, counts, strict=True)),
            }
        )
        metrics = list(_flat_metrics(evaluator.metrics))
        lines += [
            Line(f"{name}: {', '.join(metrics[start : start + _METRICS_PER_LINE])}")
            for start in range(0, len(metrics), _METRICS_PER_LINE)
        ]
    columns = (
        Column("Evaluator", "evaluator"),
        Column("Mean score", "mean_score", Format.NUMBER),
        *(Column(verdict.capitalize(), verdict, Format.COUNT) for verdict in verdicts),
    )
    yield Table(name="evaluators", columns=columns, rows=rows)
    yield from lines
    yield from (Line(f"error: {text}", Tone.BAD) for text in evaluator_errors(summary))


def judge_blocks(
    summary: Summary, *, top: int | None = None, hint: str = TOP_HINT
) -> Iterator[Block]:
    """Yield the confusion counts and the numbers in the details of each judge, by path."""
    for name, evaluator in summary.evaluators.items():
        confusion, numbers = confusion_rows(evaluator.metrics), number_rows(evaluator.metrics)
        if confusion:
            yield Table(
                name="judge_confusion",
                columns=(Column(f"Details of {name}", "path", folds=True), *_CONFUSION_COLUMNS),
                rows=[
                    {
                        **row._asdict(),
                        **{key: _count(getattr(row, key)) for key in Counts._fields},
                        "f1": Cell(row.f1, tone=_score_tone(row.f1)),
                    }
                    for row in confusion
                ],
                top=top,
                noun="path",
                hint=hint,
            )
        if numbers:
            yield Table(
                name="judge_numbers",
                columns=(Column(f"Details of {name}", "path", folds=True), *_NUMBER_COLUMNS),
                rows=[row._asdict() for row in numbers],
                top=top,
                noun="path",
                hint=hint,
            )
        if TRUNCATED in evaluator.metrics:
            text = f"{name}: the details have more than {MAX_PATHS} paths, or very long ones"
            yield Line(f"{text}; the others are not summed", Tone.QUIET)


def _flat_metrics(metrics: JsonObject, prefix: str = "") -> Iterator[str]:
    """Yield every ratio with its name; counts, classes and settings are in the summary."""
    for name, value in metrics.items():
        if name in _HIDDEN_METRICS:
            continue
        if value is None or isinstance(value, float):
            yield f"{prefix}{name} {number(value)}"
        elif isinstance(value, dict):
            yield from _flat_metrics(value, f"{prefix}{name}.")


def _detection(detection: JsonObject) -> SideBySide:
    """Return average precision, average recall and PASCAL AP."""
    pascal = cast("JsonObject", detection.get("pascal") or {})

    def table(title: str, metrics: JsonObject) -> Table:
        rows = metrics.items()
        pairs = [(k.replace("_", " "), number(cast("float | None", v))) for k, v in rows]
        return _named_table((title, ""), pairs)

    return SideBySide(
        [
            table("Average precision", {k: v for k, v in detection.items() if k.startswith("AP")}),
            table("Average recall", {k: v for k, v in detection.items() if k.startswith("AR")}),
            table(
                f"PASCAL AP at IoU {pascal.get('iou_threshold')}",
                {"all points": pascal.get("every_point"), "11 points": pascal.get("eleven_point")},
            ),
        ]
    )


def _coverage(summary: Summary) -> str:
    """Return how many cases there are, and their verdicts."""
    cases, verdicts = summary.cases, summary.verdicts
    parts = [plural(cases.total, "case"), f"{cases.scored:,} scored", f"{cases.perfect:,} perfect"]
    problems = (
        (cases.missing, "without prediction"),
        (cases.unparseable, "unparseable"),
        (cases.invalid_truth, "with invalid ground truth"),
    )
    parts += [f"{count:,} {text}" for count, text in problems if count]
    parts += error_counts(summary)
    if cases.unexpected:
        parts.append(f"{plural(cases.unexpected, 'prediction')} without ground truth")
    counts = f"{verdicts.passed:,} pass, {verdicts.partial:,} partial, {verdicts.failed:,} fail"
    return f"{', '.join(parts)}; verdicts: {counts}"


def _target_usage(usage: JsonObject) -> JsonObject:
    """Return the usage of the model that produced the predictions, if there is one."""
    models = usage.get("asked")
    for model in models if isinstance(models, list) else []:
        if isinstance(model, dict) and model.get("name") == _CHAT_TARGET:
            return model
    return {}


def _seconds_per_call(usage: JsonObject) -> float | None:
    """Return how long a call of a model took on average."""
    match usage:
        case {"seconds": float() | int() as seconds, "calls": int() as calls} if calls:
            return seconds / calls
        case _:
            return None


def usage_lines(spent: JsonObject, usage: JsonObject) -> Iterator[str]:
    """Yield one line per model: paid calls, and responses from the cache."""
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
                target_usage = _target_usage(usage)
                served, seconds = target_usage.get("models"), _seconds_per_call(target_usage)
                line += (
                    f"; served by {', '.join(map(str, served))}" if isinstance(served, list) else ""
                )
                line += "" if seconds is None else f"; {seconds:.2f} s per call"
            yield line


def _cost(label: str, cost: JsonValue) -> str:
    return f"{label} {cost:.4f}" if isinstance(cost, int | float) else ""


def targets_table(summaries: Mapping[str, Summary], runs: Mapping[str, str]) -> Table:
    """Return the runs of several targets, the best mean score first, and runs with errors last.

    The cost is the original cost of the responses, so that a cached run is not cheaper.
    """

    def worst_last(name: str) -> tuple[bool, float]:
        score = summaries[name].mean_score
        return summaries[name].cases.errors > 0, inf if score is None else -sortable(score)

    rows: list[Row] = []
    for name in sorted(summaries, key=worst_last):
        summary = summaries[name]
        usage = _target_usage(summary.usage)
        rows.append(
            {
                "target": name,
                "mean_score": Cell(
                    summary.mean_score,
                    noted_number(summary.mean_score, metric_note(summary, MAIN_METRIC)),
                ),
                "cases": summary.cases.total,
                "errors": summary.cases.errors,
                "cost": usage.get("cost"),
                "seconds": _seconds_per_call(usage),
                "run": runs.get(name, ""),
            }
        )
    columns = (
        Column("Target", "target", folds=True),
        Column("Mean score", "mean_score", Format.NUMBER),
        Column("Cases", "cases", Format.COUNT),
        Column("Errors", "errors", Format.COUNT),
        Column("Cost", "cost", Format.COST),
        Column("Seconds per call", "seconds", Format.SECONDS),
        Column("Run", "run", folds=True),
    )
    return Table(name="targets", columns=columns, rows=rows)
