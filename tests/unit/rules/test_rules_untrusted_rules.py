"""Rules of clients must not name models with endpoints, or files."""

from __future__ import annotations

import pytest

from fieldmark.rules.rules_file import RefusedRule, find_refused_rule


@pytest.mark.parametrize(
    ("rules", "refused"),
    [
        (None, None),
        ("auto", None),
        ({"fields": [{"path": "provider", "match": "exact"}], "safety": "wordlist"}, None),
        ({"provider": "EXACT", "calibration": "EXACT", "safety": "FUZZY"}, None),
        ({"provider": "lexical"}, None),
        ({"provider": {"type": "recorded", "scores": {}}}, None),
        ({"provider": {"type": "recorded", "file": "x"}}, RefusedRule.PROVIDER),
        ({"provider": "openai"}, RefusedRule.PROVIDER),
        ([{"path": "a", "match": {"type": "semantic", "provider": {"type": "model2vec"}}}], RefusedRule.PROVIDER),
        ({"safety": {"type": "llm"}}, RefusedRule.SAFETY),
        ([{"path": "a", "match": "fuzzy", "threshold": "calibrated", "calibration": "x"}], RefusedRule.CALIBRATION),
        ([{"path": "a", "match": {"type": "fuzzy", "threshold": "calibrated"}, "calibration": "x"}], RefusedRule.CALIBRATION),
        ({"defaults": {"match": "fuzzy", "calibration": "x"}, "fields": [{"path": "a", "pass_threshold": "calibrated"}]}, RefusedRule.CALIBRATION),
    ],
    ids=str,
)  # fmt: skip
def test_rules_of_clients(rules, refused):
    assert find_refused_rule(rules) is refused
