"""Two runs on the same cases: which differences are significant."""

from __future__ import annotations

from dataclasses import replace

import pytest
from metrics_cells import block_of
from paired_runs import COUNTING, QUICK, metrics_of, pairs_of

from fieldmark.errors import OptionError
from fieldmark.metrics import difference
from fieldmark.metrics.case_score import CaseCounter
from fieldmark.metrics.conventions import DEFAULT_CONVENTION
from fieldmark.metrics.difference import (
    MARGIN,
    CaseInRun,
    DiffVerdict,
    Direction,
    PairedCases,
    ResamplingOptions,
    paired_metrics,
    paired_slices,
)
from fieldmark.metrics.gates import drop_gates
from fieldmark.metrics.significance import holm
from fieldmark.model.outcomes import AttributeTable

RIGHT, BAD, LEFT_OUT = {"a": "match"}, {"a": "wrong"}, {"a": "omission"}
SAME, FIXED, REGRESSED = (RIGHT, RIGHT), (BAD, RIGHT), (RIGHT, BAD)
BETTER, WORSE, EQUIVALENT, NOT_PROVEN, TOO_FEW, _ = DiffVerdict


@pytest.mark.parametrize(
    ("cases", "word", "delta", "interval"),
    [
        pytest.param([SAME] * 5 + [(BAD, BAD)] * 5, TOO_FEW, 0.0, (-0.259, 0.259), id="run-and-itself"),
        pytest.param([SAME] * 2, TOO_FEW, 0.0, (-0.776, 0.776), id="two-cases-without-a-change"),
        pytest.param([SAME] * 298, TOO_FEW, 0.0, (-0.01, 0.01), id="298-cases-without-a-change"),
        pytest.param([SAME] * 299, EQUIVALENT, 0.0, (-0.01, 0.01), id="299-cases-without-a-change"),
        pytest.param([SAME] * 1000 + [FIXED], EQUIVALENT, 0.001, (-0.003, 0.0053), id="one-of-a-thousand"),
        pytest.param([FIXED] * 5, TOO_FEW, 1.0, (-0.044, 1), id="five-of-five-fixed"),
        pytest.param([REGRESSED] * 5, TOO_FEW, -1.0, (-1, 0.044), id="five-of-five-regressed"),
        pytest.param([FIXED] * 6, BETTER, 1.0, (1 / 3, 1), id="six-of-six-fixed"),
        pytest.param([REGRESSED] * 6, WORSE, -1.0, (-1, -1 / 3), id="six-of-six-regressed"),
        pytest.param([FIXED] * 10 + [SAME] * 5, BETTER, 2 / 3, (0.27, 1), id="cases-vary"),
        pytest.param([SAME] * 95 + [FIXED] * 5, TOO_FEW, 0.05, (-0.006, 0.112), id="five-of-a-hundred"),
        pytest.param([SAME] * 90 + [FIXED] * 10, BETTER, 0.1, (0.04, 0.172), id="ten-of-a-hundred"),
        pytest.param([FIXED, REGRESSED], TOO_FEW, 0.0, (-1, 1), id="one-fixed-one-regressed"),
        pytest.param([FIXED, REGRESSED] * 20, NOT_PROVEN, 0.0, (-0.305, 0.305), id="as-many-regressed-of-few"),
        pytest.param([SAME] * 9000 + [FIXED, REGRESSED] * 200, EQUIVALENT, 0.0, (-0.004, 0.004), id="as-many-regressed-of-many"),
    ],
)  # fmt: skip
def test_conclusion_of_a_difference(cases, word, delta, interval):
    found = metrics_of(*cases)
    for metric in (found.headline["mean_score"], found.headline["micro_f1"], found.attributes["a"]):
        assert metric.word is word
        assert metric.delta == pytest.approx(delta, abs=1e-6)
        assert metric.interval == pytest.approx(interval, abs=0.015 * (interval[1] - interval[0]))


def test_a_significant_difference_within_the_margin_is_equivalent():
    cases = [SAME] * 4000 + [FIXED] * 8
    found = metrics_of(*cases).headline["mean_score"]
    assert (found.word, found.p < 0.05, found.interval[0] > 0) == (EQUIVALENT, True, True)
    strict = metrics_of(*cases, effort=replace(QUICK, margin=0.0)).headline["mean_score"]
    assert strict.word is BETTER


@pytest.mark.parametrize(
    ("before", "after", "f1s", "delta", "word", "changed"),
    [
        pytest.param("wrong", "omission", (0.0, 0.0), 0.0, NOT_PROVEN, (0, 0), id="another-mistake-of-the-same-cost"),
        pytest.param("extra-key", None, (0.0, None), 1.0, BETTER, (12, 0), id="no-longer-extra"),
        pytest.param(None, "extra-key", (None, 0.0), -1.0, WORSE, (0, 12), id="newly-extra"),
        pytest.param("null-null", "null-null", (None, None), None, TOO_FEW, (0, 0), id="without-values"),
    ],
)  # fmt: skip
def test_conclusion_about_an_attribute(before, after, f1s, delta, word, changed):
    sides = [{**RIGHT, **({} if fact is None else {"b": fact})} for fact in (before, after)]
    found = metrics_of(*[tuple(sides)] * 12).attributes["b"]
    assert ((found.before, found.after), found.delta, found.word) == (f1s, delta, word)
    assert (found.improved, found.worse) == changed


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param(
            {"a": "match", "x": "extra-key"},
            {"a": "match"},
            {"hallucination": "better", "rqs": "better", "accuracy": "too few cases to tell"},
            id="less-hallucination-is-better",
        ),
        pytest.param(
            {"a": "match"},
            {"a": "match", "x": "extra-for-null"},
            {"hallucination": "worse", "rqs": "worse", "completeness": "too few cases to tell"},
            id="more-hallucination-is-worse",
        ),
        pytest.param(
            {"a": "match", "b": "omission"},
            {"a": "match", "b": "match"},
            {"completeness": "better", "rqs": "better", "hallucination": "not proven"},
            id="more-completeness-is-better",
        ),
        pytest.param(
            {"a": "match", "b": "match"},
            {"a": "wrong", "b": "match"},
            {"accuracy": "worse", "rqs": "worse", "completeness": "too few cases to tell"},
            id="less-accuracy-is-worse",
        ),
        pytest.param(
            {"a": "omission"},
            {"a": "wrong"},
            {"accuracy": "too few cases to tell", "completeness": "better"},
            id="accuracy-of-no-compared-value-is-undefined",
        ),
    ],
)
def test_quality_metrics_are_tested_like_the_others(before, after, words):
    many, few = (metrics_of(*[(before, after)] * number).headline for number in (12, 5))
    assert {name: many[name].word for name in words} == words
    for name, word in words.items():
        if word in {"better", "worse"}:
            assert many[name].p < 0.05
            assert (few[name].word, few[name].p > 0.05) == (DiffVerdict.TOO_FEW, True)
            assert few[name].interval[0] <= 0 <= few[name].interval[1]
            better = (many[name].delta < 0) is (name == "hallucination")
            assert better is (word == "better")


@pytest.mark.parametrize("first", [RIGHT, BAD])
def test_no_metric_has_a_difference_if_no_case_of_a_run_could_be_scored(first):
    failed = {"a": "error"}
    for cases in ([(first, failed)] * 12, [(failed, first)] * 12):
        found = metrics_of(*cases)
        names = ("mean_score", "macro_f1_by_attribute", "macro_f1_by_case", "micro_f1", "accuracy")
        for metric in (*(found.headline[name] for name in names), found.attributes["a"]):
            assert (metric.delta, metric.interval) == (None, None)
            assert metric.word is TOO_FEW
            assert None in (metric.before, metric.after)


def test_attribute_that_is_named_like_a_metric_is_better_if_it_increases():
    for name in ("errors", "hallucination", "missing"):
        found = metrics_of(*[({name: "wrong"}, {name: "match"})] * 12).attributes[name]
        assert found.word is DiffVerdict.BETTER


def test_safety_is_compared_only_if_it_was_judged():
    judged = [{"safety": 0.0}, {"safety": 1.0}]
    assert "safety" not in metrics_of(*[(RIGHT, RIGHT)] * 12).headline
    found = metrics_of(*[(RIGHT, RIGHT)] * 12, stats=judged).headline
    assert (found["safety"].before, found["safety"].after) == (0.0, 1.0)
    assert found["safety"].word is found["rqs"].word is DiffVerdict.BETTER
    assert found["rqs"].delta == pytest.approx(0.15)


def test_quality_metrics_of_an_evaluator_are_means_over_its_cases():
    rated = [{"rqs": 0.25}, {"rqs": 0.75}]
    found = metrics_of(*[(RIGHT, RIGHT)] * 12, stats=rated).headline
    assert (found["rqs"].before, found["rqs"].after) == (0.25, 0.75)
    assert found["rqs"].word is DiffVerdict.BETTER
    assert found["accuracy"].word is TOO_FEW
    one_sided = metrics_of(*[(RIGHT, RIGHT)] * 12, stats=[{"rqs": 0.25}, {}]).headline["rqs"]
    assert (one_sided.after, one_sided.word) == (None, DiffVerdict.TOO_FEW)


def test_evaluators_are_compared_by_their_mean_scores():
    scores = [
        {"worse": 1.0, "same": 0.5, "better": 0.25, "failed": 1.0},
        {"worse": 0.0, "same": 0.5, "better": 0.75},
    ]
    found = metrics_of(*[(RIGHT, RIGHT)] * 12, evaluators=scores).evaluators
    assert {name: each.word for name, each in found.items()} == {
        "worse": WORSE,
        "same": TOO_FEW,
        "better": BETTER,
        "failed": TOO_FEW,
    }
    worse, better, failed = found["worse"], found["better"], found["failed"]
    assert (worse.before, worse.after, worse.improved, worse.worse) == (1.0, 0.0, 0, 12)
    assert (better.before, better.after, better.improved, better.worse) == (0.25, 0.75, 12, 0)
    assert worse.adjusted == 3 * worse.p < 0.05
    assert (failed.before, failed.after, failed.delta) == (1, None, None)


def test_evaluator_is_tested_if_its_own_scores_differ_in_enough_cases():
    def scores(number):
        return {"few": 0.0, "all": 0.0}, {"few": float(number < 3), "all": 1.0}

    found = metrics_of(*[(RIGHT, RIGHT)] * 12, evaluators=scores).evaluators
    assert (found["few"].word, found["few"].is_tested) == (TOO_FEW, False)
    assert (found["all"].word, found["all"].is_tested) == (BETTER, True)


@pytest.mark.parametrize(
    ("fixed", "regressed", "unchanged"), [(30, 20, 150), (12, 10, 400), (10, 10, 80)]
)
def test_cases_needed_would_settle_a_difference_that_is_not_proven(fixed, regressed, unchanged):
    cases = [FIXED] * fixed + [REGRESSED] * regressed + [SAME] * unchanged
    found = metrics_of(*cases).headline["mean_score"]
    assert found.word is NOT_PROVEN
    number, size = len(cases), abs(found.delta)
    error = ((fixed + regressed) / number) ** 0.5
    wanted = ((1.96 + 0.8416) * error / max(size, MARGIN - size)) ** 2
    assert found.cases_needed == pytest.approx(wanted, rel=0.15)
    times = -(-found.cases_needed // number)
    enough = metrics_of(*cases * times).headline["mean_score"]
    assert enough.word in {BETTER, EQUIVALENT}
    assert enough.cases_needed is None


def test_interval_contains_the_difference():
    found = metrics_of(*[(RIGHT, RIGHT)] * 30, *[(BAD, RIGHT)] * 12, *[(RIGHT, BAD)] * 5)
    low, high = found.headline["mean_score"].interval
    assert low < 7 / 47 < high
    assert found.headline["mean_score"].delta == pytest.approx(7 / 47, abs=1e-6)
    assert (high - low) / 2 == pytest.approx(2.01 * (0.583 / 47**0.5), rel=0.25)


def test_cases_without_an_attribute_do_not_make_its_interval_narrower():
    effort = ResamplingOptions(resamples=2_000, permutations=99)
    own = [FIXED] * 12 + [REGRESSED] * 4 + [SAME] * 2
    others = [({"b": "match"}, {"b": "match"})] * 80
    alone, among_others = (
        metrics_of(*cases, effort=effort).attributes["a"].interval for cases in (own, own + others)
    )
    assert among_others[1] - among_others[0] > alone[1] - alone[0]


def test_same_seed_gives_the_same_result():
    cases = [(RIGHT, RIGHT)] * 30 + [(BAD, RIGHT)] * 12 + [(RIGHT, BAD)] * 5
    assert metrics_of(*cases) == metrics_of(*cases, effort=replace(QUICK, seed=0))
    assert metrics_of(*cases) != metrics_of(*cases, effort=ResamplingOptions(resamples=200, seed=5))


def test_p_values_of_many_attributes_are_adjusted():
    names = [f"f{number}" for number in range(20)]
    right = dict.fromkeys(names, "match")
    cases = [(right, right)] * 40 + [({**right, "f0": "wrong"}, right)] * 7
    found = metrics_of(*cases)
    assert found.attributes["f0"].p < 0.05 < found.attributes["f0"].adjusted
    assert found.attributes["f0"].word is DiffVerdict.TOO_FEW
    assert (found.attributes["f0"].improved, found.attributes["f0"].worse) == (7, 0)
    assert found.attributes["f1"].word is TOO_FEW


def test_intervals_of_many_attributes_are_adjusted_like_their_p_values():
    names = [f"f{number}" for number in range(20)]
    right = dict.fromkeys(names, "match")
    cases = [(right, right)] * 60 + [({**right, "f0": "wrong"}, right)] * 30
    cases += [(right, {**right, "f0": "wrong"})] * 10
    effort = ResamplingOptions(permutations=2_999)
    among_many = metrics_of(*cases, effort=effort).attributes["f0"]
    only = [({"f0": one["f0"]}, {"f0": other["f0"]}) for one, other in cases]
    alone = metrics_of(*only, effort=effort).attributes["f0"]
    assert among_many.p == pytest.approx(alone.p, abs=1e-9)
    assert among_many.adjusted > alone.adjusted
    widths = [change.interval[1] - change.interval[0] for change in (among_many, alone)]
    assert widths[0] > 1.2 * widths[1]
    assert 0 < among_many.interval[0] < alone.interval[0]


@pytest.mark.parametrize("attributes", [1, 3, 40])
@pytest.mark.parametrize("regressed", [1, 5, 6, 7, 8, 10, 11, 12, 15])
def test_attribute_that_was_always_right_and_is_now_always_wrong_has_not_stayed_the_same(
    attributes, regressed
):
    others = {f"f{number}": "match" for number in range(1, attributes)}
    # Half of the other attributes change in both directions, so that their p-values are large.
    mixed = {name: "wrong" if number % 2 else "match" for number, name in enumerate(others)}
    right, bad = {**others, "f0": "match"}, {**mixed, "f0": "wrong"}
    swapped = {**mixed}, {**others}
    found = metrics_of(*[(right, bad)] * regressed, *[swapped] * regressed).attributes["f0"]
    assert (found.before, found.after) == (1.0, 0.0)
    assert found.word in {DiffVerdict.TOO_FEW, DiffVerdict.WORSE}
    assert (found.improved, found.worse) == (0, regressed)


def test_slices_are_one_family_of_tests():
    cases = {"fixed": [(BAD, RIGHT)] * 8, "worse": [(RIGHT, BAD)] * 7, "same": [(RIGHT, RIGHT)] * 3}
    slices = {name: pairs_of(*own) for name, own in cases.items()}
    _, table = slices["same"]
    pairs = {name: own for name, (own, _) in slices.items()}
    found = paired_slices(pairs, "mean_score", table, table, COUNTING, QUICK)
    assert [(each.improved, each.worse) for each in found.values()] == [(0, 7), (8, 0), (0, 0)]
    assert [each.delta for each in found.values()] == [-1.0, 1.0, 0.0]
    p_values = {name: each.p for name, each in found.items()}
    assert {name: each.adjusted for name, each in found.items()} == holm(p_values)
    assert found["fixed"].adjusted == 3 * found["fixed"].p < 0.1


def test_nothing_is_better_or_worse_if_the_runs_are_not_comparable():
    pairs, table = pairs_of(*[(BAD, RIGHT)] * 12, comparable=False)
    found = paired_metrics(pairs, table, table, DEFAULT_CONVENTION.counting)
    for each in (*found.headline.values(), *found.attributes.values()):
        assert each.word is DiffVerdict.NOT_COMPARABLE
    assert not pairs.directions
    assert not any(pairs.changes.values())
    assert pairs.shifts == {("wrong_value", "match"): 12}


def test_fields_of_a_case_are_resampled_together():
    """Twenty changed fields in one case are one change, not twenty."""
    many_bad = {f"rows[{number}].x": "wrong" for number in range(20)}
    many_right = dict.fromkeys(many_bad, "match")
    found = metrics_of((many_bad, many_right), *[(many_right, many_right)] * 10)
    assert found.headline["micro_f1"].word is DiffVerdict.TOO_FEW


def test_fixed_and_regressed_cases_and_changed_outcomes():
    pairs, _ = pairs_of(
        (BAD, RIGHT), (LEFT_OUT, RIGHT), (RIGHT, LEFT_OUT), (BAD, LEFT_OUT), (RIGHT, RIGHT)
    )  # fmt: skip
    assert pairs.passes() == (2, 1)
    assert [change.case_id for change in pairs.changed(Direction.IMPROVED)] == ["case-0", "case-1"]
    [worse] = pairs.changed(Direction.WORSE)
    assert (worse.case_id, worse.fields) == ("case-2", (("a", "match", "omission"),))
    assert pairs.shifts == {
        ("wrong_value", "match"): 1,
        ("omission", "match"): 1,
        ("match", "omission"): 1,
        ("wrong_value", "omission"): 1,
    }
    assert pairs.directions == {"improved": 2, "worse": 1, "unchanged": 2}
    assert pairs.attributes == {"a": [2, 1]}
    assert pairs.verdicts["fail", "pass"] == 2


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        pytest.param(BAD, RIGHT, Direction.IMPROVED, id="higher-score"),
        pytest.param(RIGHT, BAD, Direction.WORSE, id="lower-score"),
        pytest.param(BAD, LEFT_OUT, Direction.UNCHANGED, id="another-mistake"),
        pytest.param(BAD, {**BAD, "b": "extra-key"}, Direction.WORSE, id="more-mistakes"),
        pytest.param({**BAD, "b": "wrong"}, BAD, Direction.IMPROVED, id="fewer-mistakes"),
        pytest.param(RIGHT, {"a": "error"}, Direction.NOT_SCORED, id="error-in-the-second-run"),
        pytest.param({"a": "error"}, RIGHT, Direction.NOT_SCORED, id="error-in-the-first-run"),
    ],
)
def test_direction_of_a_case(before, after, direction):
    pairs, _ = pairs_of((before, after))
    assert pairs.directions == {direction: 1}
    if direction is Direction.NOT_SCORED:
        assert pairs.passes() == (0, 0)
        assert pairs.attributes == {}


def test_another_field_in_the_same_place_is_a_change():
    pairs, _ = pairs_of(({**BAD, "e": "extra-key"}, {**BAD, "f": "extra-key"}))
    assert pairs.shifts == {("hallucination", "absent"): 1, ("absent", "hallucination"): 1}


def test_runs_may_number_their_attributes_differently():
    pairs = PairedCases()
    sides = []
    for path in ("a", "b"):
        table = AttributeTable()
        block = block_of([(path, "match")], table)
        stats = CaseCounter(DEFAULT_CONVENTION, table).stats(block)
        sides.append(CaseInRun(block=block, stats=stats, table=table))
    pairs.add("case", *sides)
    assert pairs.shifts == {("match", "absent"): 1, ("absent", "match"): 1}


def test_parts_of_a_run_may_number_their_attributes_differently():
    pairs = PairedCases()
    for path in ("a", "b"):
        table = AttributeTable()
        counter = CaseCounter(DEFAULT_CONVENTION, table)
        blocks = [block_of([(path, word)], table) for word in ("wrong", "match")]
        pairs.add(path, *(CaseInRun(block=b, stats=counter.stats(b), table=table) for b in blocks))
    changes = pairs.changed(Direction.IMPROVED)
    assert [each.path for change in changes for each in change.fields] == ["a", "b"]


def test_cases_with_the_same_cells_may_have_other_list_items():
    pairs, table = PairedCases(), AttributeTable()
    counter = CaseCounter(DEFAULT_CONVENTION, table)
    for place in (0, 7):
        sides = []
        for word in ("wrong", "match"):
            block = block_of([("rows[].x", word)], table)
            block.items = [(0, "rows[]", place, place, None)]
            sides.append(CaseInRun(block=block, stats=counter.stats(block), table=table))
        pairs.add(f"case-{place}", *sides)
    changes = pairs.changed(Direction.IMPROVED)
    assert [each.path for change in changes for each in change.fields] == ["rows[0].x", "rows[7].x"]


def test_score_that_differs_by_float_noise_is_unchanged():
    noise = ({"score": 0.7375}, {"score": 0.7374999999999999})
    scores = ({"judge": 0.3}, {"judge": 0.1 + 0.2})
    pairs, _ = pairs_of((BAD, BAD), stats=noise, evaluators=scores)
    assert pairs.directions == {Direction.UNCHANGED: 1}
    assert pairs.by_evaluator == {}


FOUR = {"a": "wrong", "b": "match", "c": "match", "d": "null-null"}


@pytest.mark.parametrize(
    ("before", "after", "direction", "paths"),
    [
        pytest.param(FOUR, {"a": "match", "b": "wrong", "c": "omission"}, Direction.WORSE, "bcad", id="worse-fields-of-a-worse-case-first"),
        pytest.param({**FOUR, "c": "wrong"}, {"a": "match", "b": "wrong", "c": "match"}, Direction.IMPROVED, "acbd", id="improved-fields-of-an-improved-case-first"),
        pytest.param({"a": "match", "b": "wrong"}, {"a": "wrong", "b": "match"}, Direction.UNCHANGED, "ba", id="improved-fields-of-an-unchanged-case-first"),
    ],
)  # fmt: skip
def test_order_of_changed_fields(before, after, direction, paths):
    [change] = pairs_of((before, after))[0].changed(direction)
    assert "".join(field.path for field in change.fields) == paths


def test_all_changed_cases_are_listed_largest_change_first():
    half = {"a": "match", "b": "match", "c": "match", "d": "wrong"}
    whole = dict.fromkeys(half, "match")
    pairs, _ = pairs_of(*[(whole, half)] * 60, *[(RIGHT, BAD)] * 3, *[(whole, half)] * 140)
    worse = pairs.changed(Direction.WORSE)
    assert len(worse) == 203
    assert [each.gain for each in worse[:4]] == [-1, -1, -1, -0.25]
    assert pairs.passes() == (0, 203)


def test_rows_beyond_the_limit_follow_the_published_sequence_of_split_mix(monkeypatch):
    monkeypatch.setattr(difference, "GROUPS", 3)
    published = [
        0xF88BB8A8724C81EC, 0x1B39896A51A8749B, 0x53CB9F0C747EA2EA, 0x2C829ABE1F4532E1,
        0xC584133AC916AB3C, 0x3EE5789041C98AC3, 0xF3B8488C368CB0A6,
    ]  # fmt: skip
    rows = [difference.row_of(number) for number in range(10)]
    assert rows == [0, 1, 2, *(output % 3 for output in published)]


def test_beyond_a_limit_cases_share_rows_and_metrics_stay_the_same(monkeypatch):
    cases = [(RIGHT, RIGHT)] * 300 + [(BAD, RIGHT)] * 60 + [(RIGHT, BAD)] * 20
    exact = metrics_of(*cases)
    monkeypatch.setattr(difference, "GROUPS", 64)
    pairs, table = pairs_of(*cases)
    assert len(pairs.before) == 64
    grouped = paired_metrics(pairs, table, table, DEFAULT_CONVENTION.counting)
    one, other = exact.headline["mean_score"], grouped.headline["mean_score"]
    assert one.delta == other.delta
    widths = [each.interval[1] - each.interval[0] for each in (one, other)]
    # Sorted cases must not make rows similar: assigning them in turn would halve the interval.
    assert widths[0] == pytest.approx(widths[1], rel=0.3)
    assert other.word is DiffVerdict.BETTER


def summary(**metrics):
    return {"micro": {"tp": 1, "fp": 0, "fn": 0, "f1": 0.9}, "mean_score": 0.8, **metrics}


@pytest.mark.parametrize(
    ("name", "limit", "before", "after", "passed"),
    [
        pytest.param("mean_score", 0.01, 0.80, 0.80, True, id="no-drop"),
        pytest.param("mean_score", 0.01, 0.80, 0.79, True, id="drop-at-the-limit"),
        pytest.param("mean_score", 0.01, 0.80, 0.78, False, id="drop-above-the-limit"),
        pytest.param("mean_score", 0.0, 0.80, 0.95, True, id="gain"),
        pytest.param("mean_score", 0.0, None, 0.10, True, id="undefined-in-the-baseline"),
        pytest.param("mean_score", 0.5, 0.80, None, False, id="undefined-now"),
        pytest.param("hallucination", 0.0, 0.10, 0.05, True, id="fewer-hallucinations-are-no-drop"),
        pytest.param("hallucination", 0.0, 0.10, 0.20, False, id="more-hallucinations-are-a-drop"),
    ],
)
def test_drop_gate(name, limit, before, after, passed):
    one, two = (
        summary(**{name: value}, quality={"hallucination": value}) for value in (before, after)
    )
    [gate] = drop_gates(one, two, {name: limit})
    assert gate.passed is passed
    assert gate.name == f"drop of {name}"


def test_gate_fails_if_nothing_was_scored():
    cases = {"scored": 2, "vacuous": 2}
    empty = {"micro": {"tp": 0, "fp": 0, "fn": 0}, "mean_score": 1.0, "cases": cases}
    [gate] = drop_gates(summary(), empty, {"mean_score": 0.5})
    assert not gate.passed


def test_unknown_metric_is_rejected_with_a_suggestion():
    with pytest.raises(OptionError, match="mean_score"):
        drop_gates(summary(), summary(), {"mean_scor": 0.1})
