"""Rules in all their forms, and their problems."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldmark import registry
from fieldmark.align.exact_methods import Index, Key
from fieldmark.align.greedy import Greedy
from fieldmark.align.optimal import Optimal
from fieldmark.compare.auto import Auto
from fieldmark.compare.exact import Exact, ExactText, Ignore
from fieldmark.compare.fuzzy import Algorithm, Fuzzy
from fieldmark.compare.numeric import NumericTolerance
from fieldmark.compare.providers import Lexical, Recorded
from fieldmark.compare.semantic import Semantic
from fieldmark.compare.strategy_words import (
    ExactWord,
    FuzzyByDistance,
    FuzzyByModel,
    SemanticWord,
)
from fieldmark.compare.wrappers import AnyOf
from fieldmark.errors import ConfigError, Location
from fieldmark.metrics.conventions import find_convention
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.registry import Plugin
from fieldmark.rules.config_values import Context
from fieldmark.rules.rules_file import (
    RefusedRule,
    find_refused_rule,
    load_rules,
    native_form,
    read_rules,
    rules_of,
)
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.values.dates import date_words
from fieldmark.values.numbers import NumberFormat


@pytest.mark.parametrize(
    ("settings", "comparator"),
    [
        pytest.param({"match": "exact"}, Exact(), id="name"),
        pytest.param({"match": "exact-text"}, ExactText(), id="name-in-kebab-case"),
        pytest.param({}, None, id="no-settings"),
        pytest.param({"required": False}, None, id="not-required"),
        pytest.param(
            {"match": "fuzzy", "algorithm": "jaro_winkler", "threshold": 1},
            Fuzzy(algorithm=Algorithm.JARO_WINKLER, threshold=1),
            id="options-next-to-match",
        ),
        pytest.param(
            {"match": "fuzzy", "algorithm": "jaro-winkler"},
            Fuzzy(algorithm=Algorithm.JARO_WINKLER),
            id="words-in-kebab-case",
        ),
        pytest.param(
            {"match": {"type": "fuzzy", "threshold": 0.5}},
            Fuzzy(threshold=0.5),
            id="options-in-match",
        ),
        pytest.param(
            {"match": "numeric_tolerance", "tolerance": Decimal("0.05"), "number_format": "eu"},
            NumericTolerance(tolerance=0.05, number_format=NumberFormat.EU),
            id="decimal-from-python",
        ),
        pytest.param({"any_of": True}, AnyOf(inner=Exact()), id="any-of-default"),
        pytest.param(
            {"match": "semantic", "provider": "lexical"},
            Semantic(provider=Lexical()),
            id="provider-by-name",
        ),
    ],
)
def test_comparator_of_a_field(settings, comparator):
    native = read_rules({"fields": [{"path": "a", **settings}]}).rules
    assert native.fields[0].comparator == comparator
    assert native.fields[0].required is settings.get("required", True)
    if settings:
        plain = read_rules({"a": settings} if "any_of" in settings else {"fields": {"a": settings}})
        assert plain.rules.fields[0].comparator == comparator


@pytest.mark.parametrize(
    ("settings", "aligner"),
    [
        pytest.param({"align": "index"}, Index(), id="name"),
        pytest.param(
            {"align": "optimal", "match_fields": ["a", "b.c"], "threshold": 0.7},
            Optimal(match_fields=("a", "b.c"), threshold=0.7),
            id="options-next-to-align",
        ),
        pytest.param({"align": "key", "key": "sku"}, Key(key=("sku",)), id="key"),
        pytest.param(
            {"align": {"type": "greedy", "threshold": 0.3}}, Greedy(threshold=0.3), id="inside"
        ),
    ],
)
def test_aligner_of_a_list(settings, aligner):
    rule = read_rules([{"path": "items", **settings}]).rules.fields[0]
    assert (rule.comparator, rule.aligner) == (None, aligner)


@pytest.mark.parametrize(
    ("defaults", "field", "comparator"),
    [
        pytest.param({"match": "fuzzy", "threshold": 0.9}, {"match": "fuzzy"}, Fuzzy(threshold=0.9),
                     id="same-match-inherits-options"),
        pytest.param({"match": "fuzzy", "threshold": 0.9}, {"match": "exact"}, Exact(),
                     id="different-match-ignores-default-options"),
        pytest.param({"match": "fuzzy", "threshold": 0.9}, {"threshold": 0.5}, Fuzzy(threshold=0.5),
                     id="option-alone-changes-default"),
        pytest.param({"match": "fuzzy", "threshold": 0.5, "case_sensitive": True},
                     {"match": {"type": "fuzzy", "threshold": 0.99}}, Fuzzy(threshold=0.99),
                     id="same-match-with-options-ignores-default-options"),
        pytest.param({"match": "fuzzy", "threshold": 0.5, "case_sensitive": True},
                     {"match": "fuzzy", "threshold": 0.99},
                     Fuzzy(threshold=0.99, case_sensitive=True),
                     id="same-match-and-an-option-beside-it"),
        pytest.param({"match": "fuzzy", "threshold": 0.9}, {"any_of": True},
                     AnyOf(inner=Fuzzy(threshold=0.9)), id="any-of-uses-default"),
        pytest.param({"align": "index"}, {}, None, id="no-settings"),
    ],
)  # fmt: skip
def test_defaults_apply_to_fields(defaults, field, comparator):
    rules = read_rules({"defaults": defaults, "fields": [{"path": "a", **field}]}).rules
    assert rules.fields[0].comparator == comparator


def test_defaults_set_a_comparator_and_an_aligner():
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


def test_strategy_file(tmp_path):
    file = tmp_path / "strategies.json"
    file.write_text(json.dumps(STRATEGIES))
    rules = load_rules(file).rules
    assert [(rule.path, rule.comparator) for rule in rules.fields] == [
        ("customer_name", FuzzyByDistance(threshold=0.85)),
        ("bio", SemanticWord(threshold=0.80)),
        ("phone", ExactWord()),
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
                     id="list-mapping"),
        pytest.param({"items": {"[*].name": "FUZZY"}}, ["items[*].name"], id="bracket-in-nested-key"),
        pytest.param({"fields": "EXACT", "scope": "IGNORE", "strict": "EXACT"},
                     ["fields", "scope", "strict"], id="fields-named-like-keys-of-rules"),
        pytest.param({"fields": {"match": "exact"}}, ["fields"], id="field-named-fields-with-settings"),
        pytest.param({"match": "FUZZY", "vendor": {"path": "EXACT"}}, ["match", "vendor.path"],
                     id="fields-named-like-keys-of-fields"),
        pytest.param({"total": {"match": "exact"}, "name": "FUZZY"}, ["total", "name"],
                     id="settings-next-to-words"),
        pytest.param({"date": "date", "total": "numeric-tolerance"}, ["date", "total"],
                     id="other-match-types-as-words"),
    ],
)  # fmt: skip
def test_paths_of_a_mapping(value, paths):
    assert [rule.path for rule in read_rules(value).rules.fields] == paths


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({}, id="alone"),
        pytest.param({"convention": "confusion"}, id="convention"),
        pytest.param({"fuzzy_threshold": 0.9}, id="threshold"),
        pytest.param({"depth": "leaf"}, id="depth"),
        pytest.param({"scope": "union"}, id="scope"),
        pytest.param({"safety": "none"}, id="safety"),
        pytest.param({"gates": {"min": {"mean_score": 0.9}}}, id="gates"),
    ],
)
def test_fields_is_the_key_of_the_rules_whatever_is_beside_it(others):
    (rule,) = read_rules({"fields": {"bio": "IGNORE"}, **others}).rules.fields
    assert (rule.path, rule.comparator) == ("bio", Ignore())


@pytest.mark.parametrize(
    ("value", "default"),
    [
        pytest.param("auto", Auto(), id="word-only"),
        pytest.param({"rules": "auto"}, Auto(), id="as-key"),
        pytest.param({"defaults": {"match": "auto"}}, Auto(), id="as-match-type"),
        pytest.param({"a": "IGNORE"}, Auto(), id="strategy-words-imply-auto"),
        pytest.param({"a": {"match": "ignore"}}, None, id="settings-set-no-default"),
        pytest.param({"a": "date"}, None, id="match-types-set-no-default"),
        pytest.param({"fields": {"a": "FUZZY"}, "scope": "union"}, Auto(), id="words-under-fields"),
        pytest.param({"a": {"match": "FUZZY", "threshold": 0.9}}, Auto(), id="strategy-with-a-threshold-implies-auto"),
        pytest.param({"a": "FUZZY", "semantic_threshold": 0.9}, Auto(threshold=0.9), id="auto-has-the-semantic-threshold"),
        pytest.param([{"path": "a", "match": "FUZZY"}], None, id="word-in-a-list-of-fields"),
        pytest.param({"fields": {"a": "FUZZY"}, "defaults": {"match": "exact"}}, Exact(),
                     id="explicit-default-takes-precedence"),
        pytest.param({}, None, id="no-rules"),
    ],
)  # fmt: skip
def test_default_for_fields_without_a_rule(value, default):
    assert read_rules(value).rules.default == default


SCORES = [{"expected": "John Smith", "candidate": "John Smyth", "similarity": 0.92}]


@pytest.mark.parametrize("where", ["scores", "file"])
def test_recorded_provider_for_fuzzy_and_semantic(tmp_path, where):
    (tmp_path / "scores.json").write_text(json.dumps(SCORES))
    provider = {"type": "recorded", where: SCORES if where == "scores" else "scores.json"}
    file = tmp_path / "rules.json"
    fields = {"name": "FUZZY", "bio": "SEMANTIC", "x": {"match": "semantic", "threshold": 0.5}}
    file.write_text(json.dumps({"provider": provider, "fields": fields}))
    rules = load_rules(file).rules
    recorded = Recorded(scores=tuple(SCORES))
    assert [rule.comparator for rule in rules.fields] == [
        FuzzyByModel(provider=recorded, threshold=0.85),
        SemanticWord(provider=recorded, threshold=0.80),
        Semantic(provider=recorded, threshold=0.5),
    ]
    assert rules.default == Auto(provider=recorded)
    assert rules.fields[0].comparator.compare("John Smith", "John Smyth").similarity == 0.92


@pytest.mark.parametrize(
    ("provider", "comparator"),
    [
        pytest.param(None, FuzzyByDistance(threshold=0.85), id="none"),
        pytest.param(Lexical(), FuzzyByDistance(threshold=0.85), id="lexical"),
        pytest.param(
            Recorded(scores=()),
            FuzzyByModel(provider=Recorded(scores=()), threshold=0.85),
            id="judge",
        ),
    ],
)
def test_the_word_fuzzy_uses_a_configured_provider(provider, comparator):
    rules = read_rules({"name": "FUZZY"}, provider=provider).rules
    assert rules.fields[0].comparator == comparator


PROVIDER = Recorded(scores={("John", "Jon"): 0.92})


@pytest.mark.parametrize("provider", [None, PROVIDER], ids=["no-provider", "provider"])
@pytest.mark.parametrize(
    ("rules", "fuzzy", "semantic"),
    [
        pytest.param({"a": "FUZZY", "b": "SEMANTIC"}, 0.85, 0.8, id="usual"),
        pytest.param({"a": {"match": "FUZZY", "threshold": 0.9}, "b": {"match": "SEMANTIC", "threshold": 0.7}}, 0.9, 0.7, id="of-a-field"),
        pytest.param({"a": "FUZZY", "b": "SEMANTIC", "fuzzy_threshold": 0.9, "semantic_threshold": 0.7}, 0.9, 0.7, id="of-a-strategy-file"),
        pytest.param({"fuzzy_threshold": 0.9, "semantic_threshold": 0.7, "fields": [{"path": "a", "match": "FUZZY"}, {"path": "b", "match": "SEMANTIC"}]}, 0.9, 0.7, id="of-a-rules-file"),
        pytest.param({"fuzzy_threshold": 0.9, "fields": [{"path": "a", "match": "FUZZY", "threshold": 0.6}, {"path": "b", "match": "SEMANTIC"}]}, 0.6, 0.8, id="a-field-overrides-the-file"),
        pytest.param({"fuzzy_threshold": 0.9, "fields": [{"path": "a", "match": {"type": "FUZZY"}, "weight": 2}, {"path": "b", "match": "SEMANTIC"}]}, 0.9, 0.8, id="object-with-a-type"),
    ],
)  # fmt: skip
def test_thresholds_of_strategies_never_change_the_provider(rules, fuzzy, semantic, provider):
    usual = read_rules({"a": "FUZZY", "b": "SEMANTIC"}, provider=provider).rules.fields
    found = read_rules(rules, provider=provider).rules.fields
    expected = [
        replace(rule.comparator, threshold=threshold)
        for rule, threshold in zip(usual, (fuzzy, semantic), strict=True)
    ]
    assert [rule.comparator for rule in found] == expected


def test_thresholds_of_a_file_apply_to_comparators_by_name():
    rules = {"fuzzy_threshold": 0.9, "fields": [{"path": "a", "match": "fuzzy", "algorithm": "jaro_winkler"}, {"path": "b", "match": "semantic"}]}  # fmt: skip
    first, second = read_rules(rules).rules.fields
    assert first.comparator == Fuzzy(algorithm=Algorithm.JARO_WINKLER, threshold=0.9)
    assert second.comparator == Semantic()


def test_file_with_convention_and_gates():
    file = {
        "convention": {"name": "four_phase", "rqs_form": "complement"},
        "depth": "leaf",
        "name": "FUZZY",
        "gates": {"min": {"quality.rqs": 0.7}},
    }
    loaded = read_rules(file)
    assert loaded.convention == find_convention("four_phase").with_options(
        {"rqs_form": "complement"}
    )
    assert [(gate.name, gate.limit) for gate in loaded.gates] == [("quality.rqs", 0.7)]
    assert loaded.rules.depth is Depth.LEAF
    assert [rule.path for rule in loaded.rules.fields] == ["name"]


def test_fields_may_have_the_names_of_settings():
    file = {"convention": "EXACT", "depth": "FUZZY", "gates": "IGNORE", "fuzzy_threshold": "EXACT"}
    loaded = read_rules(file)
    assert loaded.convention is None
    assert [rule.path for rule in loaded.rules.fields] == [*file]


WORDS = st.sampled_from(["EXACT", "fuzzy", "Semantic", "IGNORE", "date"])
FIELD_SETTINGS = st.one_of(
    st.fixed_dictionaries({"match": st.sampled_from(["FUZZY", "SEMANTIC", "fuzzy"]), "threshold": st.floats(0, 1)}),
    st.fixed_dictionaries({"match": st.just("EXACT")}, optional={"weight": st.floats(0, 9), "required": st.booleans()}),
    st.fixed_dictionaries({"align": st.sampled_from(["index", "greedy"])}),
)  # fmt: skip
BY_PATH = st.dictionaries(
    st.sampled_from(["a", "b.c", "lines", "d e"]), WORDS | FIELD_SETTINGS, min_size=1
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "convention": st.sampled_from(["four_phase", {"name": "four_phase", "rqs_weights": {"safety": 0}}]),
        "depth": st.sampled_from(["top", "leaf"]),
        "fuzzy_threshold": st.floats(0, 1),
        "semantic_threshold": st.floats(0, 1),
        "gates": st.just({"max": {"quality.hallucination": 0.1}}),
    },
)  # fmt: skip
NATIVE_SETTINGS = st.fixed_dictionaries(
    {"scope": st.sampled_from(["union", "truth"])},
    optional={
        "defaults": st.sampled_from([{"match": "date"}, {"align": "index"}, {"match": "FUZZY", "threshold": 0.5}]),
        "rules": st.just("auto"),
        "empty_tokens": st.just(["-"]),
    },
)  # fmt: skip
RULES_FILES = st.one_of(
    st.just("auto"),
    st.builds(lambda fields, settings: {**fields, **settings}, BY_PATH, SETTINGS),
    st.builds(lambda own, more, fields: {**own, **more, "fields": fields}, NATIVE_SETTINGS, SETTINGS, BY_PATH),
    BY_PATH.map(lambda fields: [{"path": path, **(own if isinstance(own, dict) else {"match": "EXACT"})} for path, own in fields.items()]),
)  # fmt: skip


@given(value=RULES_FILES)
def test_native_form_means_the_same_and_is_stable(value):
    def meaning(rules):
        loaded = read_rules(rules, provider=PROVIDER)
        fields = [replace(rule, location=Location()) for rule in loaded.rules.fields]
        return replace(loaded, rules=replace(loaded.rules, fields=tuple(fields)))

    native = native_form(value)
    assert meaning(native) == meaning(value)
    assert native_form(native) == native


@pytest.mark.parametrize("path", ["a..b", ".a", "a.", "a[-1]", "a[", "a[x]", ""])
def test_an_invalid_path_is_a_warning_with_its_location(tmp_path, path):
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"fields": [{"path": path}]}))
    loaded = load_rules(file)
    assert [rule.path for rule in loaded.rules.fields] == [path]
    (warning,) = loaded.warnings
    assert warning.message.startswith("invalid path ")
    assert warning.location == Location(str(file), 1, 22)


@pytest.mark.parametrize(
    "defaults",
    [
        pytest.param("{align: key, key: [item]}", id="next-to-align"),
        pytest.param("{key: [item], align: key, match: exact}", id="in-any-order"),
        pytest.param("{align: {type: key, key: [item]}}", id="inside-it"),
    ],
)
def test_the_default_aligner_can_have_a_key(tmp_path, defaults):
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
        pytest.param("match: fuzy", f"1:31: Invalid match type: fuzy; valid types: {TYPES}; did you mean 'fuzzy'?", id="misspelled-match-type"),
        pytest.param("match: 7", f"1:31: expected a match type, got 7; valid types: {TYPES}", id="number-as-match-type"),
        pytest.param("align: gredy", "1:31: unknown aligner 'gredy'; valid types: auto, index, sequence, greedy, optimal, key, set, whole, entries; did you mean 'greedy'?", id="misspelled-aligner"),
        pytest.param("match: exact, zzz: 1", "1:38: unknown key 'zzz'", id="unknown-key-without-suggestion"),
        pytest.param("match: exact, tolerance: 1", "1:38: option 'tolerance' is not supported by exact; it has no options; 'tolerance' is an option of match type: numeric_tolerance", id="option-of-another-match-type"),
        pytest.param("match: fuzzy, match_fields: [a]", "1:38: option 'match_fields' is not supported by fuzzy; supported options: algorithm, threshold, case_sensitive, ignore, numbers; 'match_fields' is an option of aligner: greedy, optimal", id="aligner-option-with-match"),
        pytest.param("align: greedy, algorithm: x", "1:39: option 'algorithm' is not supported by greedy; supported options: match_fields, threshold, similarity; 'algorithm' is an option of match type: fuzzy", id="match-option-with-align"),
        pytest.param("align: greedy, key: x", "1:39: option 'key' is not supported by greedy; supported options: match_fields, threshold, similarity; 'key' is an option of aligner: key", id="option-of-another-aligner"),
        pytest.param("threshold: 1", "1:24: option 'threshold' requires a match type; it is an option of: fuzzy, semantic, iou, distance, auto", id="option-without-match"),
        pytest.param("match_fields: [a]", "1:24: option 'match_fields' requires an aligner; it is an option of: greedy, optimal", id="aligner-option-without-align"),
        pytest.param("match: numeric_tolerance, tolerance: not a number", "1:61: tolerance: expected a number, got 'not a number'", id="string-as-tolerance"),
        pytest.param("match: date, order: dmy, formats: [ISO]", "1:44: order: has no effect with formats", id="order-and-formats"),
        pytest.param("match: {threshold: 1}", "1:31: expected a match type, got an object", id="match-without-type"),
        pytest.param("align: key", "1:31: option 'key' is required for key", id="missing-required-option"),
        pytest.param("match: exact, align: greedy", "1:24: match and align cannot be combined", id="match-next-to-align"),
        pytest.param("any_of: true, align: greedy", "1:24: any_of and align cannot be combined", id="any-of-next-to-align"),
        pytest.param("required: yes", "1:34: required: expected true or false, got 'yes'", id="yes-is-a-string"),
        pytest.param("match: semantic, provider: lexikal", "1:51: unknown provider 'lexikal'; valid types: lexical, recorded, openai, openai_embeddings, model2vec, python; did you mean 'lexical'?", id="misspelled-provider"),
        pytest.param("match: semantic, provider: recorded", "1:51: option 'scores' is required for recorded", id="recorded-without-scores"),
    ],
)  # fmt: skip
def test_problem_in_a_field(field, problem):
    found = _problems(f"fields: [{{path: total, {field}}}]")
    assert found[0].startswith(f"r.yaml:{problem}")
    assert len(found) == 1


@pytest.mark.parametrize(
    ("module", "field", "extra"),
    [
        pytest.param("phonenumbers", "match: phone", "phone", id="phone"),
        pytest.param("babel", "match: date, locales: [fo]", "locales", id="locales"),
    ],
)
def test_missing_extra_is_one_problem_with_the_install_command(monkeypatch, module, field, extra):
    monkeypatch.setitem(sys.modules, module, None)
    date_words.cache_clear()  # other tests may have read these words
    (problem,) = _problems(f"fields: [{{path: total, {field}}}]")
    assert problem.startswith("r.yaml:1:")
    assert problem.endswith(f'pip install "fieldmark[{extra}]"')


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("fields: []", "1:9: fields must not be empty", id="no-fields"),
        pytest.param("[]", "1:1: fields must not be empty", id="empty-list"),
        pytest.param("scope: configured", "1:8: scope: 'configured' requires 'fields'", id="configured-without-fields"),
        pytest.param("fields: [{match: exact}]", "1:10: 'path' is required", id="field-without-path"),
        pytest.param("fields: [{path: 5}]", "1:17: path: expected a string, got 5", id="number-as-path"),
        pytest.param("fields: [total]", "1:10: field: expected an object, got 'total'", id="bare-word-as-field"),
        pytest.param("fields: 7\nstrict: true", "1:9: fields: expected a list, got 7", id="number-as-fields"),
        pytest.param("fields:\n- path: a\n- path: a", "3:9: duplicate path 'a'; first defined at line 2", id="duplicate-path"),
        pytest.param("fields:\n- path: a[].b\n- path: a[*].b", "3:9: duplicate path 'a[*].b'", id="equivalent-paths"),
        pytest.param("vendor.name: FUZZY\nvendor: {name: EXACT}", "2:10: duplicate path 'vendor.name'", id="duplicate-path-in-mapping"),
        pytest.param("strict: true\nfields: [{path: a..b}]", "2:17: invalid path 'a..b': two dots in a row", id="invalid-path-with-strict"),
        pytest.param("scope: unoin\nstrict: true", "1:8: scope: must be one of: union, truth, configured; got 'unoin'; did you mean 'union'?", id="misspelled-scope"),
        pytest.param("defaults: exact\nstrict: true", "1:11: defaults: expected an object, got 'exact'; for example {match: exact}", id="bare-default"),
        pytest.param("defaults: {match: exact, tolerance: 1}", "1:26: option 'tolerance' is not supported in the defaults; it is an option of: numeric_tolerance", id="option-of-another-match-type"),
        pytest.param("defaults: {match: fuzzy, align: greedy, threshold: 1}", "1:41: option 'threshold' fits both match and align", id="ambiguous-option"),
        pytest.param("rules: manual\nstrict: true", "1:8: rules: must be 'auto', got 'manual'", id="rules-other-than-auto"),
        pytest.param("name: FUZY", "1:7: unknown strategy 'FUZY'; must be one of: EXACT, FUZZY, SEMANTIC, IGNORE; did you mean 'FUZZY'?", id="misspelled-strategy"),
        pytest.param("name: {match: FUZZY, algorithm: jaro_winkler}", "1:22: option 'algorithm' is not supported by FUZZY", id="option-of-another-comparator"),
        pytest.param("name: FUZZY\nfuzzy_threshold: 2", "2:18: fuzzy_threshold: must be a number from 0 to 1, got 2", id="threshold-of-the-file"),
        pytest.param("convention: four_fase\nscope: union", "1:13: unknown convention 'four_fase'", id="unknown-convention"),
        pytest.param("gates: {min: {rqss: 1}}", "1:15: unknown metric 'rqss'", id="unknown-metric"),
        pytest.param("gates: {min: {}, max_errors: 1}\nscope: union", "1:18: unknown key 'max_errors'", id="gates-of-an-eval-file"),
        pytest.param("name: FUZZY\nbio: 5", "2:6: expected a strategy, got 5", id="number-as-strategy"),
        pytest.param("name: FUZZY\nbio: {}", "2:6: expected a strategy, got an object", id="empty-object-as-strategy"),
        pytest.param("feilds: [{path: a, match: exact}]", "1:11: 'path' is not allowed in a mapping of paths; did you mean 'fields'?", id="misspelled-fields"),
        pytest.param("total: {match: exact, path: b}", "1:23: 'path' is not allowed in a mapping of paths", id="path-in-mapping"),
        pytest.param("", "1:1: expected rules, got null", id="empty-file"),
        pytest.param("just text", "1:1: expected rules, got 'just text'", id="text"),
    ],
)  # fmt: skip
def test_problem_in_a_file(text, problem):
    found = _problems(text)
    assert found[0].startswith(f"r.yaml:{problem}")
    assert len(found) == 1


def test_all_problems_are_reported_at_once():
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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "../scores.json",
            "'../scores.json' is outside the directory of the configuration file",
            id="above",
        ),
        pytest.param(
            "/etc/hostname",
            "'/etc/hostname' is outside the directory of the configuration file",
            id="absolute",
        ),
        pytest.param("missing.json", "file not found", id="missing"),
        pytest.param("broken.json", "expected a JSON value", id="broken"),
        pytest.param(5, "file: expected a file name, got 5", id="number"),
    ],
)
def test_file_of_recorded_scores(tmp_path, name, message):
    directory = tmp_path / "rules"
    directory.mkdir()
    (tmp_path / "scores.json").write_text("[]")
    (directory / "broken.json").write_text("nope")
    file = directory / "rules.yaml"
    file.write_text(f"provider: {{type: recorded, file: {name}}}")
    with pytest.raises(ConfigError) as caught:
        load_rules(file)
    assert message in str(caught.value)


def test_a_symlink_outside_the_directory_is_rejected(tmp_path):
    directory = tmp_path / "rules"
    directory.mkdir()
    (tmp_path / "scores.json").write_text("[]")
    (directory / "scores.json").symlink_to(tmp_path / "scores.json")
    (directory / "rules.yaml").write_text("provider: {type: recorded, file: scores.json}")
    with pytest.raises(ConfigError, match="is outside the directory of the configuration file"):
        load_rules(directory / "rules.yaml")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param({"a": object()}, "expected a JSON value, got object", id="python-object"),
        pytest.param({"a": float("nan")}, "expected a finite number, got nan", id="nan"),
        pytest.param({"a": float("inf")}, "expected a finite number, got inf", id="infinity"),
        pytest.param(None, "expected rules, got null", id="none"),
    ],
)
def test_invalid_python_values(value, message):
    with pytest.raises(ConfigError, match=message):
        read_rules(value)


def test_a_cyclic_python_object_is_rejected():
    value: dict[str, object] = {}
    value["a"] = value
    with pytest.raises(ConfigError, match="nesting exceeds the limit of 50 levels"):
        read_rules(value)


# --- rules of clients -----------------------------------------------------------------------------


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
