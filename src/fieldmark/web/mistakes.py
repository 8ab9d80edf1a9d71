"""The mistakes of a run as its report shows them: worst fields, values and the heat map."""

from __future__ import annotations

from collections import Counter

from fieldmark.metrics.summary import Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.heat_map import HeatMap
from fieldmark.report.html.mistake_groups import MistakeGroups
from fieldmark.report.html.value_tables import ValueTables
from fieldmark.report.html.view import most_mistakes_first
from fieldmark.web.case_filter import worst_first
from fieldmark.web.case_index import CaseIndex


def mistake_view(index: CaseIndex, summary: Summary) -> JsonObject:
    """Return the data of the components; `cases` has the number and id of cases by rank."""
    worst = worst_first(index)
    ranks = {head.number: rank for rank, head in enumerate(worst)}
    wrong = most_mistakes_first(summary)
    heat = HeatMap(wrong, len(worst), len(worst))
    groups, tables = MistakeGroups(), ValueTables(wrong)
    for number, case in enumerate(index.run.cases(), 1):
        rank = ranks[number]
        times = Counter(case.outcomes.cells)
        heat.add(times, case.attributes, rank)
        groups.add(case, times, rank)
        tables.add(case, None)
    lines = groups.view()
    examples = (line["example"] for line in lines)
    named = {example["rank"] for example in examples if isinstance(example, dict)}
    named.update(heat.single_cases())
    cases: list[JsonValue] = [
        {"rank": rank, "number": worst[rank].number, "id": worst[rank].id}
        for rank in named
        if isinstance(rank, int)
    ]
    return {
        "mistakes": list[JsonValue](lines),
        "heat": heat.view(),
        "value_tables": list[JsonValue](tables.view()),
        "cases": cases,
    }
