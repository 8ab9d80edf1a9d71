"""Rules in each of their forms."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from fieldmark import registry
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
from fieldmark.config.context import Context
from fieldmark.config.field_rules import FIELD_KEYS
from fieldmark.config.rules_file import load_rules, read_rules, rules_of
from fieldmark.config.yaml_parser import parse_yaml
from fieldmark.errors import ConfigError, Location
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.registry import Plugin
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


TYPES = ", ".join(registry.names(Plugin.COMPARATORS))


def _problems(text: str) -> list[str]:
    context = Context()
    rules_of(parse_yaml(text, file="r.yaml"), context)
    with pytest.raises(ConfigError) as caught:
        context.problems.raise_any()
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        pytest.param("match: fuzy", f"1:31: Invalid match type: fuzy. Valid types: {TYPES}. Did you mean fuzzy?", id="a-misspelt-match-type"),
        pytest.param("match: 7", f"1:31: Not a match type: 7. Valid types: {TYPES}.", id="a-number-as-match-type"),
        pytest.param("match: null", f"1:31: Not a match type: nothing. Valid types: {TYPES}.", id="an-empty-match-type"),
        pytest.param("align: gredy", "1:31: Invalid alignment: gredy. Valid types: index, greedy, optimal, key, set, whole. Did you mean greedy?", id="a-misspelt-alignment"),
        pytest.param("match: fuzzy, treshold: 1", "1:38: Unknown key: treshold. Did you mean threshold?", id="a-misspelt-option"),
        pytest.param("match: exact, wieght: 1", "1:38: Unknown key: wieght. Did you mean weight?", id="a-misspelt-key"),
        pytest.param("match: exact, zzz: 1", "1:38: Unknown key: zzz.", id="a-key-like-no-other"),
        pytest.param("match: exact, tolerance: 1", "1:38: Option of another match type: tolerance. exact takes no options; tolerance belongs to numeric_tolerance.", id="an-option-of-another-match-type"),
        pytest.param("match: fuzzy, match_fields: [a]", "1:38: Option of an alignment: match_fields.", id="an-option-of-an-alignment"),
        pytest.param("align: greedy, algorithm: x", "1:39: Option of a match type: algorithm.", id="an-option-of-a-match-type"),
        pytest.param("align: greedy, key: x", "1:39: Option of another alignment: key.", id="an-option-of-another-alignment"),
        pytest.param("threshold: 1", "1:24: threshold: needs the match type it is for. It belongs to fuzzy, semantic, iou, distance, auto.", id="an-option-without-its-match-type"),
        pytest.param("match_fields: [a]", "1:24: match_fields: needs the alignment it is for. It belongs to greedy, optimal.", id="an-option-without-its-alignment"),
        pytest.param("reqired: true", "1:24: Unknown key: reqired. Did you mean required?", id="a-misspelt-key-alone"),
        pytest.param("match: numeric_tolerance, tolerance: not a number", '1:61: tolerance: must be a number, not "not a number".', id="text-as-a-tolerance"),
        pytest.param('match: numeric_tolerance, tolerance: "0.1"', '1:61: tolerance: must be a number, not "0.1".', id="a-quoted-number"),
        pytest.param("match: numeric_tolerance, tolerance: true", "1:61: tolerance: must be a number, not true.", id="a-boolean-is-no-number"),
        pytest.param("match: numeric_tolerance, tolerance: .nan", '1:61: tolerance: must be a number, not ".nan".', id="nan-is-text"),
        pytest.param("match: numeric_tolerance, tolerance: -1", "1:61: tolerance: must be a number that is not negative", id="a-negative-tolerance"),
        pytest.param("match: numeric_tolerance, relative: 1", "1:60: relative: must be true or false, not 1.", id="a-number-as-a-flag"),
        pytest.param("match: numeric_tolerance, relative: null", "1:60: relative: must be true or false, not nothing.", id="nothing-as-a-flag"),
        pytest.param("match: numeric_tolerance, number_format: uk", '1:65: number_format: must be one of us, eu, auto, not "uk".', id="not-one-of-the-words"),
        pytest.param("match: fuzzy, algorithm: levenstein", "1:49: algorithm: must be one of levenshtein, jaro_winkler", id="a-misspelt-word"),
        pytest.param("match: fuzzy, algorithm: [x]", "1:49: algorithm: must be one of levenshtein", id="a-list-as-a-word"),
        pytest.param("match: fuzzy, threshold: 1.5", "1:49: threshold: must be a number from 0 to 1", id="a-threshold-above-one"),
        pytest.param("match: fuzzy, threshold: -0.1", "1:49: threshold: must be a number from 0 to 1", id="a-threshold-below-zero"),
        pytest.param("match: date, formats: []", "1:46: formats: ", id="no-formats"),
        pytest.param("match: date, formats: [1]", "1:46: formats: must be text, not 1.", id="a-number-as-a-format"),
        pytest.param("match: date, formats: {a: 1}", "1:46: formats: must be a list, not an object.", id="an-object-as-a-list"),
        pytest.param("match: date, formats: [DD.QQ.YYYY]", "1:46: formats: ", id="no-such-format"),
        pytest.param("match: regex, pattern: 5", "1:47: pattern: must be text, not 5.", id="a-number-as-a-pattern"),
        pytest.param("match: {type: fuzzy, treshold: 1}", "1:45: Unknown key: treshold. Did you mean threshold?", id="a-misspelt-option-inside"),
        pytest.param("match: {threshold: 1}", "1:31: Not a match type: an object.", id="a-match-without-its-type"),
        pytest.param("align: greedy, match_fields: []", "1:53: match_fields: must name at least one field.", id="no-match-fields"),
        pytest.param("align: greedy, threshold: 2", "1:50: threshold: must lie between 0 and 1", id="an-alignment-threshold-above-one"),
        pytest.param("align: key", "1:31: key needs the option key.", id="a-needed-option"),
        pytest.param("match: exact, align: greedy", "1:24: match and align on the same path.", id="match-beside-align"),
        pytest.param("any_of: true, align: greedy", "1:24: any_of and align on the same path.", id="any-of-beside-align"),
        pytest.param("any_of: 1", "1:32: any_of: must be true or false, not 1.", id="a-number-as-any-of"),
        pytest.param("weight: -1", "1:32: weight: must not be negative, but is -1.", id="a-negative-weight"),
        pytest.param("weight: heavy", '1:32: weight: must be a number, not "heavy".', id="text-as-a-weight"),
        pytest.param("required: yes", '1:34: required: must be true or false, not "yes".', id="yes-is-text"),
        pytest.param("match: semantic, provider: lexikal", "1:51: Invalid provider: lexikal. Valid types: lexical, recorded, openai, openai_embeddings, model2vec, python. Did you mean lexical?", id="a-misspelt-provider"),
        pytest.param("match: semantic, provider: recorded", "1:51: recorded needs the option scores.", id="recorded-without-scores"),
    ],
)  # fmt: skip
def test_one_mistake_in_a_field(field, problem):
    found = _problems(f"fields: [{{path: total, {field}}}]")
    assert found[0].startswith(f"r.yaml:{problem}")
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("fields: []", "1:9: The list of fields is empty.", id="no-fields"),
        pytest.param("[]", "1:1: The list of fields is empty.", id="an-empty-list"),
        pytest.param("scope: configured", "1:8: The scope is configured, but no fields are.", id="nothing-configured"),
        pytest.param("fields: [{match: exact}]", "1:10: A field without a path.", id="a-field-without-a-path"),
        pytest.param("fields: [{path: 5}]", "1:17: path: must be text, not 5.", id="a-number-as-a-path"),
        pytest.param("fields: [total]", '1:10: Not the settings of a field: "total".', id="a-bare-word-as-a-field"),
        pytest.param("fields: 7\nstrict: true", "1:9: fields must be a list, not 7.", id="a-number-as-fields"),
        pytest.param("fields:\n- path: a\n- path: a", "3:9: Duplicate path: a. It has a rule on line 2 already.", id="a-path-twice"),
        pytest.param("fields:\n- path: a[].b\n- path: a[*].b", "3:9: Duplicate path: a[*].b.", id="a-path-twice-in-other-words"),
        pytest.param("vendor.name: FUZZY\nvendor: {name: EXACT}", "2:10: Duplicate path: vendor.name.", id="a-path-twice-in-a-mapping"),
        pytest.param("strict: true\nfields: [{path: a..b}]", "2:17: Malformed path: 'a..b' is no path: two dots in a row.", id="a-malformed-path-under-strict"),
        pytest.param("scope: unoin\nstrict: true", '1:8: scope: must be one of union, truth, configured, not "unoin". Did you mean union?', id="a-misspelt-scope"),
        pytest.param("depth: deep\nstrict: true", "1:8: depth: must be one of leaf, top", id="a-misspelt-depth"),
        pytest.param("empty_tokens: 5\nstrict: true", "1:15: empty_tokens: must be a list, not 5.", id="a-number-as-tokens"),
        pytest.param("defaults: exact\nstrict: true", '1:11: defaults must be an object, not "exact". Write {match: exact}.', id="a-bare-default"),
        pytest.param("defaults: {match: exact, tolerance: 1}", "1:26: No default takes the option tolerance. It belongs to numeric_tolerance.", id="a-default-option-of-another"),
        pytest.param("defaults: {match: exact, algin: greedy}", "1:26: Unknown key: algin. Did you mean align?", id="a-misspelt-default"),
        pytest.param("defaults: {match: fuzzy, align: greedy, threshold: 1}", "1:41: threshold fits both match and align.", id="an-option-that-fits-both-defaults"),
        pytest.param("defaults: {match: fuzy}", "1:19: Invalid match type: fuzy.", id="a-misspelt-default-match"),
        pytest.param("rules: manual\nstrict: true", '1:8: Not rules: "manual".', id="rules-that-are-not-auto"),
        pytest.param("name: FUZY", "1:7: Invalid strategy: FUZY. Valid types: EXACT, FUZZY, SEMANTIC, IGNORE. Did you mean FUZZY?", id="a-misspelt-strategy"),
        pytest.param("name: FUZZY\nbio: 5", "2:6: Not a strategy: 5.", id="a-number-as-a-strategy"),
        pytest.param("name: FUZZY\nbio: {}", "2:6: Not a strategy: an object.", id="an-empty-object-as-a-strategy"),
        pytest.param("total: {match: exact, path: b}", "1:23: A path inside the settings of a path.", id="a-path-inside-settings"),
        pytest.param("total: {match: exact, wieght: 2}", "1:23: Unknown key: wieght. Did you mean weight?", id="a-misspelt-key-in-settings"),
        pytest.param("", "1:1: Not rules: nothing.", id="an-empty-file"),
        pytest.param("just text", '1:1: Not rules: "just text".', id="text"),
        pytest.param("provider: {type: recorded, scores: [{expected: a, candidate: b, similarity: 2}]}", "1:36: scores: must be a number from 0 to 1", id="a-similarity-above-one"),
        pytest.param("provider: {type: recorded, scores: 5}", "1:36: scores: must be an object, not 5.", id="a-number-as-scores"),
    ],
)  # fmt: skip
def test_one_mistake_in_a_file(text, problem):
    found = _problems(text)
    assert found[0].startswith(f"r.yaml:{problem}")
    assert len(found) == 1


def test_every_mistake_is_told_at_once():
    found = _problems(
        "scop: union\n"
        "fields:\n"
        "- {path: a, match: fuzy, weight: -1}\n"
        "- {path: b, match: fuzzy, treshold: 1, threshold: x}\n"
        "- {pth: c}\n"
        "- {path: a}\n"
    )
    assert [line.split(": ")[0].removeprefix("r.yaml:") for line in found] == [
        "1:1", "3:20", "3:34", "4:27", "4:51", "5:3", "5:4", "6:10",
    ]  # fmt: skip


OPTIONS = [
    (kind, name, option)
    for kind in (Plugin.COMPARATORS, Plugin.ALIGNERS)
    for name in registry.names(kind)
    for option in registry.options(registry.load(kind, name))
]


@pytest.mark.parametrize(("kind", "name", "option"), OPTIONS)
def test_one_letter_changed_in_an_option(kind, name, option):
    key = "match" if kind is Plugin.COMPARATORS else "align"
    wrong = f"{option[:-1]}x"
    found = _problems(f"fields: [{{path: a, {key}: {name}, {wrong}: 1}}]")
    assert any(f"Unknown key: {wrong}. Did you mean {option}?" in line for line in found)


@pytest.mark.parametrize("key", [key for key in FIELD_KEYS.names if key != "path"])
def test_one_letter_changed_in_a_key_of_a_field(key):
    wrong = f"{key[:-1]}x"
    (found,) = _problems(f"fields: [{{path: a, {wrong}: 1}}]")
    assert found.endswith(f"Unknown key: {wrong}. Did you mean {key}?")


KEYS = ["scope", "depth", "defaults", "fields", "empty_tokens", "empty_containers", "strict",
        "provider", "rules"]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_one_letter_changed_in_a_key_of_the_file(key):
    wrong = f"{key[:-1]}x"
    (found,) = _problems(f"{wrong}: 1\nstrict: false")
    assert found.endswith(f"Unknown key: {wrong}. Did you mean {key}?")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        pytest.param("../scores.json", "A file elsewhere: ../scores.json.", id="above"),
        pytest.param("/etc/hostname", "A file elsewhere: /etc/hostname.", id="absolute"),
        pytest.param("missing.json", "Cannot be read: ", id="missing"),
        pytest.param("broken.json", "A JSON value is expected here.", id="broken"),
        pytest.param(5, "file: must be the name of a file, not 5.", id="a-number"),
    ],
)
def test_recorded_scores_come_from_a_readable_file_beside_the_rules(tmp_path, name, complaint):
    folder = tmp_path / "rules"
    folder.mkdir()
    (tmp_path / "scores.json").write_text("[]")
    (folder / "broken.json").write_text("nope")
    place = folder / "rules.yaml"
    place.write_text(f"provider: {{type: recorded, file: {name}}}")
    with pytest.raises(ConfigError) as caught:
        load_rules(place)
    assert complaint in str(caught.value)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    folder = tmp_path / "rules"
    folder.mkdir()
    (tmp_path / "scores.json").write_text("[]")
    (folder / "scores.json").symlink_to(tmp_path / "scores.json")
    (folder / "rules.yaml").write_text("provider: {type: recorded, file: scores.json}")
    with pytest.raises(ConfigError, match="A file elsewhere"):
        load_rules(folder / "rules.yaml")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        pytest.param({"a": object()}, "Not a JSON value: object.", id="an-object-of-python"),
        pytest.param({"a": float("nan")}, "Not a number that can be used: nan.", id="nan"),
        pytest.param({"a": float("inf")}, "Not a number that can be used: inf.", id="infinity"),
        pytest.param(None, "Not rules: nothing.", id="none"),
    ],
)
def test_values_from_python_that_are_no_rules(value, complaint):
    with pytest.raises(ConfigError, match=complaint):
        read_rules(value)


def test_a_cycle_from_python_is_refused():
    value: dict[str, object] = {}
    value["a"] = value
    with pytest.raises(ConfigError, match="more than 50 deep"):
        read_rules(value)
