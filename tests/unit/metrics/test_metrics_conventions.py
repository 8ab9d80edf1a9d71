from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

import pytest

from fieldmark.align.exact_methods import Index
from fieldmark.compare.exact import Exact
from fieldmark.compare.fuzzy import Fuzzy
from fieldmark.errors import OptionError
from fieldmark.metrics.conventions import (
    CONVENTIONS,
    DEFAULT_CONVENTION,
    CountingOptions,
    RqsForm,
    find_convention,
)
from fieldmark.metrics.identity import canonical_sha256, describe, described, without_paths
from fieldmark.model.rule import Depth, Rule, Rules, Scope


@pytest.mark.parametrize(
    ("name", "scope", "depth", "comparator", "aligner"),
    [
        pytest.param("confusion", "union", "leaf", "exact", "auto", id="all-leaves-exact"),
        pytest.param("field_accuracy", "configured", "leaf", "exact", "index", id="named-fields"),
        pytest.param("taxonomy", "union", "leaf", "normalized_text", "index", id="normalized-text"),
        pytest.param(
            "taxonomy_code", "union", "leaf", "normalized_text", "index", id="normalized-text-again"
        ),
        pytest.param("four_phase", "union", "top", "auto", "whole", id="keys-by-detected-type"),
    ],
)
def test_convention_fills_in_what_rules_leave_open(name, scope, depth, comparator, aligner):
    rules = CONVENTIONS[name].rules_for(Rules(fields=(Rule(path="total"),)))
    found = (rules.scope, rules.depth, rules.default.name, rules.aligner.name)
    assert found == (scope, depth, comparator, aligner)


def test_rules_take_precedence():
    rules = Rules(scope=Scope.TRUTH, depth=Depth.LEAF, default=Exact(), aligner=Index())
    assert CONVENTIONS["four_phase"].rules_for(rules) == rules


def test_without_configured_fields_the_fields_of_the_truth_count():
    assert CONVENTIONS["field_accuracy"].rules_for(Rules()).scope is Scope.TRUTH
    rules = Rules(scope=Scope.CONFIGURED, fields=(Rule(path="a"),))
    assert CONVENTIONS["field_accuracy"].rules_for(rules).scope is Scope.CONFIGURED
    with pytest.raises(OptionError, match="no fields are configured"):
        CONVENTIONS["field_accuracy"].rules_for(Rules(scope=Scope.CONFIGURED))


def test_default_is_confusion():
    assert DEFAULT_CONVENTION.name == "confusion"


def test_kebab_case_is_accepted():
    assert find_convention("four-phase").name == "four_phase"


def test_error_for_an_unknown_name_suggests_the_nearest():
    with pytest.raises(
        OptionError, match=r"unknown convention 'taxonmy'; did you mean 'taxonomy'\?"
    ):
        find_convention("taxonmy")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            {"rqs_from": "complement"}, "rqs_from: unknown option.*rqs_form", id="misspelled-name"
        ),
        pytest.param(
            {"zzz": 1}, "zzz: unknown option; must be one of: .*rqs_form", id="unknown-name"
        ),
        pytest.param(
            {"rqs_form": "complment"},
            "rqs_form: .*; did you mean 'complement'",
            id="misspelled-value",
        ),
        pytest.param({"rqs_form": 3}, "rqs_form: must be one of: .*; got 3$", id="not-a-string"),
        pytest.param({"graded": "yes"}, "graded: expected true or false", id="boolean"),
        pytest.param({"pass_threshold": "high"}, "pass_threshold: expected a number", id="number"),
        pytest.param(
            {"pass_threshold": True},
            "pass_threshold: expected a number",
            id="boolean-is-not-a-number",
        ),
        pytest.param(
            {"pass_threshold": 1.5}, "pass_threshold: must be a number from 0 to 1", id="range"
        ),
        pytest.param({"rqs_weights": 1}, "rqs_weights: expected an object", id="weights"),
        pytest.param({"rqs_weights": {"acc": 1}}, "rqs_weights.acc: unknown", id="weight-name"),
        pytest.param({"rqs_weights": {"safety": -1}}, "rqs_weights.safety", id="negative-weight"),
    ],
)
def test_invalid_option_is_rejected_by_name(options, message):
    with pytest.raises(OptionError, match=message):
        DEFAULT_CONVENTION.with_options(options)


def test_options_are_parsed_from_plain_values():
    counting = DEFAULT_CONVENTION.with_options(
        {"rqs_form": "complement", "pass_threshold": 1, "rqs_weights": {"safety": 0}}
    ).counting
    assert counting.rqs_form is RqsForm.COMPLEMENT
    assert counting.pass_threshold == 1.0
    assert (counting.rqs_weights.safety, counting.rqs_weights.accuracy) == (0.0, 0.45)


def test_threshold_can_be_removed():
    with_threshold = DEFAULT_CONVENTION.with_options({"pass_threshold": 0.5})
    assert with_threshold.with_options({"pass_threshold": None}) == DEFAULT_CONVENTION


@pytest.mark.parametrize(
    ("rules", "same"),
    [
        pytest.param(Rules(), True, id="no-rules"),
        pytest.param(Rules(default=Exact()), True, id="explicit-default"),
        pytest.param(Rules(scope=Scope.TRUTH), False, id="another-scope"),
        pytest.param(Rules(depth=Depth.TOP), False, id="another-depth"),
        pytest.param(Rules(default=Fuzzy()), False, id="another-comparator"),
        pytest.param(Rules(aligner=Index()), False, id="another-aligner"),
        pytest.param(Rules(fields=(Rule(path="a", comparator=Fuzzy()),)), False, id="rule"),
        pytest.param(Rules(empty_tokens=frozenset({"N/A"})), False, id="empty-tokens"),
        pytest.param(Rules(empty_containers=True), False, id="empty-containers"),
    ],
)
def test_comparison_hash_distinguishes_comparisons(rules, same):
    convention = CONVENTIONS["confusion"]
    plain = convention.comparison_sha256(Rules())
    assert (convention.comparison_sha256(rules) == plain) is same


def test_comparison_hash_depends_on_options_but_not_on_weights():
    convention = CONVENTIONS["confusion"]

    def hashed(**options):
        return convention.comparison_sha256(Rules(fields=(Rule(path="a", **options),)))

    assert hashed(comparator=Fuzzy()) != hashed(comparator=Fuzzy(threshold=0.5))
    assert hashed(weight=2.0) == hashed(weight=1.0)


def test_comparison_hash_depends_on_further_rules_and_their_names():
    convention, fuzzy, exact = CONVENTIONS["confusion"], Rules(default=Fuzzy()), Rules()
    others = [None, {"a": fuzzy}, {"b": fuzzy}, {"a": exact}, {"a": fuzzy, "b": fuzzy}]
    hashes = [convention.comparison_sha256(exact, each) for each in others]
    assert len(set(hashes)) == len(others)
    assert convention.comparison_sha256(exact, {}) == hashes[0]
    assert convention.comparison_sha256(fuzzy, {"a": fuzzy}) not in hashes


def test_counting_hash_distinguishes_counting_options():
    hashes = {each.counting_sha256() for each in CONVENTIONS.values()}
    assert len(hashes) == len(CONVENTIONS)
    convention = CONVENTIONS["field_accuracy"]
    weighty = Rules(fields=(Rule(path="a", weight=2.0),))
    light = Rules(fields=(Rule(path="a"),))
    assert convention.counting_sha256(weighty) != convention.counting_sha256(light)


def test_counting_hash_does_not_depend_on_the_comparison():
    convention = CONVENTIONS["confusion"]
    other = replace(convention, comparison=CONVENTIONS["four_phase"].comparison)
    assert other.counting_sha256() == convention.counting_sha256()


def test_every_option_is_reported():
    options = CONVENTIONS["four_phase"].options()
    assert options["depth"] == "top"
    assert options["rqs_weights"]["accuracy"] == 0.45
    assert set(CountingOptions.__dataclass_fields__) < set(options)


@dataclass(frozen=True)
class Inner:
    name: ClassVar[str] = "inner"
    limit: Decimal = Decimal("0.10")
    worked_out: int = field(init=False, default=0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(Inner(), {"name": "inner", "options": {"limit": "0.10"}}, id="strategy"),
        pytest.param(frozenset({"b", "a"}), ["a", "b"], id="sets-are-sorted"),
        pytest.param((1, None), [1, None], id="tuples-are-lists"),
        pytest.param({"k": Scope.UNION}, {"k": "union"}, id="enum-members-are-strings"),
        pytest.param(object(), "object", id="other-objects-by-type"),
    ],
)
def test_option_value_as_json(value, text):
    assert describe(value) == text


@pytest.mark.parametrize(
    ("options", "without"),
    [
        pytest.param({"cwd": "/a", "limit": 1}, {"limit": 1}, id="working-directory"),
        pytest.param({"script": "a.py", "location": "/b"}, {}, id="nothing-else"),
        pytest.param([{"cwd": "/a"}, {"x": {"script": 1, "y": 2}}], [{}, {"x": {"y": 2}}], id="at-any-depth"),
        pytest.param({"path": "a.b"}, {"path": "a.b"}, id="path-of-a-field"),
        pytest.param("cwd", "cwd", id="text"),
    ],
)  # fmt: skip
def test_paths_of_files_are_left_out_of_options(options, without):
    assert without_paths(options) == without


def test_numbers_of_any_length_have_a_hash():
    assert canonical_sha256({"a": 10**30}) != canonical_sha256({"a": 10**30 + 1})


def test_hash_does_not_depend_on_the_order_of_keys():
    assert canonical_sha256({"a": 1, "b": 2}) == canonical_sha256({"b": 2, "a": 1})


def test_strategy_without_known_options_has_no_description():
    with pytest.raises(TypeError, match="object is no dataclass and has no method `identity`"):
        described(object())
