"""Rules in each of their forms."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from fieldmark.align.greedy import Greedy
from fieldmark.align.index import Index
from fieldmark.align.key import Key
from fieldmark.align.optimal import Optimal
from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.auto import Auto
from fieldmark.compare.date import DateMatch
from fieldmark.compare.exact import Exact, ExactText
from fieldmark.compare.fuzzy import Algorithm, Fuzzy
from fieldmark.compare.ignore import Ignore
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.providers import Lexical, Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.config.rules_file import load_rules, read_rules
from fieldmark.errors import Location
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.values.numbers import NumberFormat

DOCUMENTED = """\
scope: union
defaults: {match: exact}
fields:
  - {path: total, match: numeric_tolerance, tolerance: 0.01, weight: 2}
  - {path: vendor.name, match: fuzzy, threshold: 0.85}
  - {path: price, match: numeric_tolerance, tolerance: 0, any_of: true}
  - {path: internal_id, match: ignore}
  - {path: line_items, align: greedy, match_fields: [description], threshold: 0.8}
  - {path: "line_items[*].description", match: fuzzy}
empty_tokens: ["N/A"]
"""


def test_the_documented_file_loads(tmp_path):
    place = tmp_path / "rules.yaml"
    place.write_text(DOCUMENTED)
    loaded = load_rules(place)
    rules = loaded.rules
    assert loaded.warnings == ()
    assert (rules.scope, rules.default, rules.empty_tokens) == (Scope.UNION, Exact(), {"N/A"})
    assert [(rule.path, rule.comparator or rule.aligner) for rule in rules.fields] == [
        ("total", NumericTolerance(tolerance=0.01)),
        ("vendor.name", Fuzzy(threshold=0.85)),
        ("price", AnyOf(inner=NumericTolerance(tolerance=0))),
        ("internal_id", Ignore()),
        ("line_items", Greedy(match_fields=("description",), threshold=0.8)),
        ("line_items[*].description", Fuzzy()),
    ]
    assert [rule.weight for rule in rules.fields] == [2, 1, 1, 1, 1, 1]
    assert rules.fields[1].location == Location(str(place), 5, 12)


@pytest.mark.parametrize(
    ("settings", "comparator"),
    [
        pytest.param({"match": "exact"}, Exact(), id="a-name"),
        pytest.param({"match": "exact-text"}, ExactText(), id="a-name-in-kebab-case"),
        pytest.param({}, None, id="nothing-leaves-it-to-the-default"),
        pytest.param({"required": False}, None, id="optional-and-left-to-the-default"),
        pytest.param(
            {"match": "fuzzy", "algorithm": "jaro_winkler", "threshold": 1},
            Fuzzy(algorithm=Algorithm.JARO_WINKLER, threshold=1),
            id="options-beside-the-name",
        ),
        pytest.param(
            {"match": "fuzzy", "algorithm": "jaro-winkler"},
            Fuzzy(algorithm=Algorithm.JARO_WINKLER),
            id="words-in-kebab-case",
        ),
        pytest.param(
            {"match": {"type": "fuzzy", "threshold": 0.5}},
            Fuzzy(threshold=0.5),
            id="options-inside-the-match",
        ),
        pytest.param(
            {"match": "numeric_tolerance", "tolerance": Decimal("0.05"), "number_format": "eu"},
            NumericTolerance(tolerance=0.05, number_format=NumberFormat.EU),
            id="a-decimal-from-python",
        ),
        pytest.param(
            {"match": "numeric_tolerance", "absolute": None},
            NumericTolerance(),
            id="null-where-nothing-is-an-option",
        ),
        pytest.param(
            {"match": "date", "formats": ["DD/MM/YYYY", "ISO"]},
            DateMatch(formats=("DD/MM/YYYY", "ISO")),
            id="a-list",
        ),
        pytest.param(
            {"match": "date", "formats": "ISO"}, DateMatch(formats=("ISO",)), id="a-list-of-one"
        ),
        pytest.param({"any_of": True}, AnyOf(inner=Exact()), id="any-of-the-default"),
        pytest.param(
            {"match": "semantic", "provider": "lexical"},
            Semantic(provider=Lexical()),
            id="a-provider-by-name",
        ),
    ],
)
def test_how_a_field_is_compared(settings, comparator):
    native = read_rules({"fields": [{"path": "a", **settings}]}).rules
    assert native.fields[0].comparator == comparator
    assert native.fields[0].required is settings.get("required", True)
    if settings:
        plain = read_rules({"a": settings} if "any_of" in settings else {"fields": {"a": settings}})
        assert plain.rules.fields[0].comparator == comparator


@pytest.mark.parametrize(
    ("settings", "aligner"),
    [
        pytest.param({"align": "index"}, Index(), id="a-name"),
        pytest.param(
            {"align": "optimal", "match_fields": ["a", "b.c"], "threshold": 0.7},
            Optimal(match_fields=("a", "b.c"), threshold=0.7),
            id="options-belong-to-the-alignment",
        ),
        pytest.param({"align": "key", "key": "sku"}, Key(key=("sku",)), id="a-key"),
        pytest.param(
            {"align": {"type": "greedy", "threshold": 0.3}}, Greedy(threshold=0.3), id="inside"
        ),
    ],
)
def test_how_a_list_is_aligned(settings, aligner):
    rule = read_rules([{"path": "items", **settings}]).rules.fields[0]
    assert (rule.comparator, rule.aligner) == (None, aligner)


@pytest.mark.parametrize(
    ("defaults", "field", "comparator"),
    [
        pytest.param({"match": "fuzzy", "threshold": 0.9}, {"match": "fuzzy"}, Fuzzy(threshold=0.9),
                     id="the-same-match-keeps-default-options"),
        pytest.param({"match": "fuzzy", "threshold": 0.9}, {"match": "exact"}, Exact(),
                     id="another-match-does-not"),
        pytest.param({"match": "fuzzy", "threshold": 0.9}, {"threshold": 0.5}, Fuzzy(threshold=0.5),
                     id="an-option-alone-changes-the-default"),
        pytest.param({"match": "fuzzy", "threshold": 0.9}, {"any_of": True},
                     AnyOf(inner=Fuzzy(threshold=0.9)), id="any-of-uses-the-default"),
        pytest.param({"align": "index"}, {}, None, id="nothing-is-left-to-the-default"),
    ],
)  # fmt: skip
def test_defaults_reach_fields(defaults, field, comparator):
    rules = read_rules({"defaults": defaults, "fields": [{"path": "a", **field}]}).rules
    assert rules.fields[0].comparator == comparator


def test_defaults_hold_a_comparator_and_an_alignment():
    rules = read_rules(
        {"defaults": {"match": "fuzzy", "case_sensitive": True, "align": "greedy",
                      "match_fields": ["a"]}}
    ).rules  # fmt: skip
    assert (rules.default, rules.aligner) == (
        Fuzzy(case_sensitive=True),
        Greedy(match_fields=("a",)),
    )


def test_the_other_settings_of_a_rules_file():
    rules = read_rules(
        {"scope": "truth", "depth": "top", "empty_containers": True, "strict": True,
         "empty_tokens": ["-", "n/a"]}
    ).rules  # fmt: skip
    assert rules == Rules(
        scope=Scope.TRUTH,
        depth=Depth.TOP,
        empty_containers=True,
        strict=True,
        empty_tokens=frozenset({"-", "n/a"}),
    )


STRATEGIES = {"customer_name": "FUZZY", "bio": "semantic", "phone": "Exact", "notes": "IGNORE"}


def test_a_strategy_file_means_its_four_words(tmp_path):
    place = tmp_path / "strategies.json"
    place.write_text(json.dumps(STRATEGIES))
    rules = load_rules(place).rules
    assert [(rule.path, rule.comparator) for rule in rules.fields] == [
        ("customer_name", Fuzzy(threshold=0.85)),
        ("bio", Semantic(threshold=0.80)),
        ("phone", ExactText()),
        ("notes", Ignore()),
    ]
    assert (rules.default, rules.scope, rules.depth) == (Auto(), None, None)


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        pytest.param({"vendor.name": "FUZZY"}, ["vendor.name"], id="dotted"),
        pytest.param({"vendor": {"name": "FUZZY", "city": "EXACT"}}, ["vendor.name", "vendor.city"],
                     id="nested"),
        pytest.param({"items": [{"name": "FUZZY"}], "tags": ["EXACT"]}, ["items[*].name", "tags[*]"],
                     id="the-shape-of-a-list"),
        pytest.param({"items": {"[*].name": "FUZZY"}}, ["items[*].name"], id="a-bracket-below"),
        pytest.param({"fields": "EXACT", "scope": "IGNORE", "strict": "EXACT"},
                     ["fields", "scope", "strict"], id="fields-named-like-keys-of-rules"),
        pytest.param({"match": "FUZZY", "vendor": {"path": "EXACT"}}, ["match", "vendor.path"],
                     id="fields-named-like-keys-of-fields"),
        pytest.param({"total": {"match": "exact"}, "name": "FUZZY"}, ["total", "name"],
                     id="settings-beside-words"),
        pytest.param({"date": "date", "total": "numeric-tolerance"}, ["date", "total"],
                     id="other-match-types-as-words"),
    ],
)  # fmt: skip
def test_paths_of_a_mapping(value, paths):
    assert [rule.path for rule in read_rules(value).rules.fields] == paths


@pytest.mark.parametrize(
    ("value", "default"),
    [
        pytest.param("auto", Auto(), id="the-word-alone"),
        pytest.param({"rules": "auto"}, Auto(), id="as-a-key"),
        pytest.param({"defaults": {"match": "auto"}}, Auto(), id="as-a-match-type"),
        pytest.param({"a": "IGNORE"}, Auto(), id="strategy-words-detect-the-rest"),
        pytest.param({"a": {"match": "ignore"}}, None, id="settings-leave-the-rest-alone"),
        pytest.param({"a": "date"}, None, id="match-types-leave-the-rest-alone"),
        pytest.param({"fields": {"a": "FUZZY"}, "scope": "union"}, Auto(), id="words-under-fields"),
        pytest.param({"fields": {"a": "FUZZY"}, "defaults": {"match": "exact"}}, Exact(),
                     id="a-default-wins"),
        pytest.param({}, None, id="no-rules"),
    ],
)  # fmt: skip
def test_what_holds_for_fields_without_a_rule(value, default):
    assert read_rules(value).rules.default == default


SCORES = [{"expected": "John Smith", "candidate": "John Smyth", "similarity": 0.92}]


@pytest.mark.parametrize("where", ["scores", "file"])
def test_recorded_similarities_serve_fuzzy_and_semantic(tmp_path, where):
    (tmp_path / "scores.json").write_text(json.dumps(SCORES))
    provider = {"type": "recorded", where: SCORES if where == "scores" else "scores.json"}
    place = tmp_path / "rules.json"
    fields = {"name": "FUZZY", "bio": "SEMANTIC", "x": {"match": "semantic", "threshold": 0.5}}
    place.write_text(json.dumps({"provider": provider, "fields": fields}))
    rules = load_rules(place).rules
    recorded = Recorded(scores=tuple(SCORES))
    assert [rule.comparator for rule in rules.fields] == [
        Semantic(provider=recorded, threshold=0.85),
        Semantic(provider=recorded, threshold=0.80),
        Semantic(provider=recorded, threshold=0.5),
    ]
    assert rules.default == Auto(provider=recorded)
    assert rules.fields[0].comparator.compare("John Smith", "John Smyth").similarity == 0.92


@pytest.mark.parametrize(
    ("provider", "comparator"),
    [
        pytest.param(None, Fuzzy(threshold=0.85), id="none"),
        pytest.param(Lexical(), Fuzzy(threshold=0.85), id="the-embedded-one"),
        pytest.param(
            Recorded(scores=()),
            Semantic(provider=Recorded(scores=()), threshold=0.85),
            id="a-judge",
        ),
    ],
)
def test_the_word_fuzzy_asks_a_configured_judge(provider, comparator):
    rules = read_rules({"name": "FUZZY"}, provider=provider).rules
    assert rules.fields[0].comparator == comparator


@pytest.mark.parametrize("path", ["a..b", ".a", "a.", "a[-1]", "a[", "a[x]", ""])
def test_a_malformed_path_is_a_warning_with_its_place(tmp_path, path):
    place = tmp_path / "rules.json"
    place.write_text(json.dumps({"fields": [{"path": path}]}))
    loaded = load_rules(place)
    assert [rule.path for rule in loaded.rules.fields] == [path]
    (warning,) = loaded.warnings
    assert warning.message.startswith("Malformed path: ")
    assert warning.location == Location(str(place), 1, 22)


@pytest.mark.parametrize(
    "defaults",
    [
        pytest.param("{align: key, key: [item]}", id="beside-its-name"),
        pytest.param("{key: [item], align: key, match: exact}", id="in-any-order"),
        pytest.param("{align: {type: key, key: [item]}}", id="inside-it"),
    ],
)
def test_the_default_alignment_can_have_a_key(tmp_path, defaults):
    path = tmp_path / "rules.yaml"
    path.write_text(f"defaults: {defaults}\n")
    assert load_rules(path).rules.aligner == Key(key=("item",))
