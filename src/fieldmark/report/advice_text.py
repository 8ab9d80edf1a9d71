"""Advice as text: rules that accept mistakes, and the attributes that are weak in a slice."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from fieldmark.metrics.mistakes import MistakeCluster, ProposedRule
from fieldmark.metrics.weak_slices import AttributeInSlice, Condition
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.metric_titles import slice_text
from fieldmark.values.text import plural

_PLAIN: Final = re.compile(
    r"(?!(?:true|false|null|yes|no|on|off)\Z)[A-Za-z_][\w./-]*\Z", re.IGNORECASE
)
_MAX_RULES: Final = 3


def rule_text(value: JsonValue) -> str:
    """Return a rule as in a rules file, on one line.

    >>> rule_text({"path": "lines[].date", "match": "date", "order": "dmy"})
    '{path: "lines[].date", match: date, order: dmy}'
    """
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {rule_text(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(rule_text, value))}]"
    if isinstance(value, str) and _PLAIN.match(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def rule_sentences(cluster: MistakeCluster) -> list[JsonValue]:
    """Return sentences that propose rules for a group of mistakes."""
    condition = cluster.pattern.condition
    sentences: list[JsonValue] = []
    for rule, mistakes in cluster.rules[:_MAX_RULES]:
        effect = f"this rule accepts {plural(mistakes, 'mistake')}"
        if cluster.pattern.list_rule:
            effect = "this rule pairs the items by content"
        sentences.append(f"{condition}, {effect}: {rule_text(rule)}")
    return sentences


def rule_to_json(rule: ProposedRule) -> JsonObject:
    """Return a proposed rule as JSON."""
    return {"rule": rule.rule, "mistakes": rule.mistakes}


def conditions_text(conditions: Sequence[Condition]) -> str:
    """Return the conditions of a slice."""
    return " and ".join(slice_text(*condition) for condition in conditions)


def attribute_in_slice_text(finding: AttributeInSlice) -> str:
    """Return an attribute that is weak in a slice as a sentence.

    >>> attribute_in_slice_text(
    ...     AttributeInSlice("total", ("country", "DE"), 86, 29, 211, 0, 1e-9, 1e-7)
    ... )
    'total: 34% wrong where country = DE, 0% elsewhere (29 of 86 cases, 0 of 211)'
    """
    also = "".join(f" (also {slice_text(*condition)})" for condition in finding.same[:1])
    shares = [_percent(share) for share in (finding.share, finding.other_share)]
    counts = f"{finding.wrong:,} of {plural(finding.cases, 'case')}"
    return (
        f"{finding.attribute}: {shares[0]} wrong where {slice_text(*finding.condition)}{also},"
        f" {shares[1]} elsewhere ({counts}, {finding.other_wrong:,} of {finding.other_cases:,})"
    )


def _percent(share: float) -> str:
    """Return a share as a whole percentage; a share between 0 and 1 is never shown as either."""
    text = f"{100 * share:.0f}%"
    if share and text == "0%":
        return "<1%"
    return ">99%" if share < 1 and text == "100%" else text


def attribute_in_slice_to_json(finding: AttributeInSlice) -> JsonObject:
    """Return an attribute that is weak in a slice as JSON."""
    key, value = finding.condition
    return {
        "attribute": finding.attribute,
        "key": key,
        "value": value,
        "text": attribute_in_slice_text(finding),
        "cases": finding.cases,
        "wrong": finding.wrong,
        "other_cases": finding.other_cases,
        "other_wrong": finding.other_wrong,
        "share": finding.share,
        "other_share": finding.other_share,
        "p": finding.p,
        "p_adjusted": finding.adjusted,
        "same": [{"key": key, "value": value} for key, value in finding.same],
    }
