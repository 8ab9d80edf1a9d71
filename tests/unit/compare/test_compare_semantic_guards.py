from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import pytest

from fieldmark.compare.providers import Lexical, Recorded
from fieldmark.compare.semantic import Guards, Semantic, is_name_or_code
from fieldmark.errors import OptionError
from fieldmark.metrics.identity import canonical_sha256, describe
from fieldmark.model.outcome import Reason

GUARDS = [guard.name for guard in fields(Guards)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gullible:
    """A provider that finds all strings similar, as embeddings do."""

    name: ClassVar[str] = "gullible"
    approximate: ClassVar[bool] = False
    similarity: float = 0.97

    def similarities(self, pairs):
        return [self.similarity] * len(pairs)


DIFFERENT = [
    pytest.param("negation", "The contract was terminated", "The contract was not terminated", "negations differ: none vs. not", id="never"),
    pytest.param("negation", "He can attend", "He can't attend", "negations differ: none vs. can't", id="contraction"),
    pytest.param("negation", "Refundable deposit", "Non-refundable deposit", "negations differ: none vs. non", id="prefix"),
    pytest.param("negation", "Delivered with a warranty", "Delivered without a warranty", "negations differ: none vs. without", id="without"),
    pytest.param("numbers", "A fee of 1,200 dollars", "A fee of 12,000 dollars", "numbers differ: 1,200 dollars vs. 12,000 dollars", id="different-magnitude"),
    pytest.param("numbers", "due in 30 days", "due in 60 days", "numbers differ: 30 days vs. 60 days", id="different-number"),
    pytest.param("numbers", "a gain of 5 percent", "a gain of -5 percent", "numbers differ: 5 percent vs. -5 percent", id="different-sign"),
    pytest.param("numbers", "12 members attended", "members attended", "numbers differ: 12 vs. none", id="missing-number"),
    pytest.param("numbers", "revenue of 1.2 million", "revenue of 1.2 billion", "numbers differ: 1.2 million vs. 1.2 billion", id="millions-and-billions"),
    pytest.param("numbers", "two installments are due", "three installments are due", "numbers differ: two vs. three", id="number-words"),
    pytest.param("units", "a weight of 40 kg", "a weight of 40 lbs", "units differ: 40 kg vs. 40 lbs", id="different-unit"),
    pytest.param("units", "due in 30 days", "due in 30 months", "units differ: 30 days vs. 30 months", id="different-period"),
    pytest.param("units", "a fee of 5%", "a fee of 5 euros", "units differ: 5% vs. 5 euros", id="percent-and-currency"),
    pytest.param("opposites", "paid by the buyer", "paid by the seller", "opposites differ: buyer vs. seller", id="parties"),
    pytest.param("opposites", "a pain in the left arm", "a pain in the right arm", "opposites differ: left vs. right", id="sides"),
    pytest.param("opposites", "the minimum order is 5", "the maximum order is 5", "opposites differ: minimum vs. maximum", id="bounds"),
    pytest.param("opposites", "a reversible decision", "an irreversible decision", "opposites differ: reversible vs. irreversible", id="reversing-prefix"),
    pytest.param("negation", "prices include tax", "prices exclude tax", "negations differ: none vs. exclude", id="exclude"),
    pytest.param("negation", "pets are permitted", "pets are prohibited", "negations differ: none vs. prohibited", id="prohibited"),
    pytest.param("dates", "open until 6:30 pm", "open until 6:30 am", "times differ: 6:30 pm vs. 6:30 am", id="different-time"),
    pytest.param("codes", "a shirt in size L", "a shirt in size S", "codes differ: L vs. S", id="size-letters"),
    pytest.param("codes", "stored in hall B", "stored in hall C", "codes differ: B vs. C", id="single-letters"),
    pytest.param("order", "the buyer pays the seller", "the seller pays the buyer", "names are in a different order: buyer, seller vs. seller, buyer", id="parties-in-lower-case"),
    pytest.param("order", "40% wool, 60% silk", "60% wool, 40% silk", "numbers are in a different order: 40%, 60% vs. 60%, 40%", id="numbers-of-other-items"),
    pytest.param("dates", "Signed on 3 May", "Signed on 3 June", "dates differ: 3 May vs. 3 June", id="different-month"),
    pytest.param("dates", "Signed on 2024-05-03", "Signed on 2024-05-04", "dates differ: 2024-05-03 vs. 2024-05-04", id="different-day"),
    pytest.param("dates", "Valid until May 2024", "Valid until May 2025", "dates differ: May 2024 vs. May 2025", id="different-year"),
    pytest.param("codes", "See invoice INV-2041 attached", "See invoice INV-2014 attached", "codes differ: INV-2041 vs. INV-2014", id="digits-exchanged-in-code"),
    pytest.param("codes", "Payable in EUR only", "Payable in USD only", "codes differ: EUR vs. USD", id="different-currency"),
    pytest.param("codes", "account 123-456-789 closed", "account 123-456-780 closed", "codes differ: 123-456-789 vs. 123-456-780", id="digits-in-groups"),
    pytest.param("order", "A sued B", "B sued A", "names are in a different order: a, b vs. b, a", id="parties-swapped"),
    pytest.param("order", "Acme was bought by Bolt", "Bolt was bought by Acme", "names are in a different order: acme, bolt vs. bolt, acme", id="buyer-and-seller-swapped"),
]  # fmt: skip

SAME = [
    pytest.param("a fee of 1,200 dollars", "a fee of 1200.00 dollars", id="different-number-format"),
    pytest.param("eine Gebühr von 1.200,50 Euro", "a fee of 1,200.50 euros", id="foreign-number-format"),
    pytest.param("ten years of experience", "10 years of experience", id="number-as-word"),
    pytest.param("revenue of 1.2 million", "revenue of 1,200,000", id="millions"),
    pytest.param("revenue of 5k", "revenue of 5,000", id="thousands"),
    pytest.param("signed on 3 May 2024", "signed on 2024-05-03", id="different-date-format"),
    pytest.param("signed on May 3rd, 2024", "signed on 03/05/2024", id="ambiguous-date"),
    pytest.param("signed on 3 May", "signed on 3 May 2024", id="date-without-its-year"),
    pytest.param("on 31-DEC-2023 it ended", "it ended on 12/31/23", id="year-of-two-digits"),
    pytest.param("it has not ended", "it never ended", id="different-word-of-negation"),
    pytest.param("see No. 5", "see number 5", id="no-as-number-sign"),
    pytest.param("see INV-2041/a", "see inv2041a", id="code-without-separators"),
    pytest.param("on the 3rd floor, 5kg", "on the 3rd floor, 5 kg", id="ordinals-and-units"),
    pytest.param("he works in the US", "he works in the United States", id="acronym-spelled-out"),
    pytest.param("10-12 days", "10 to 12 days", id="range"),
    pytest.param("due in 24 months", "due in two years", id="converted-period"),
    pytest.param("a weight of 1.5 t", "a weight of 1,500 kg", id="converted-unit"),
    pytest.param("a weight of 10 lbs", "a weight of 4.54 kg", id="rounded-conversion"),
    pytest.param("at the end of Q1 2024", "at the end of January to March 2024", id="quarter"),
    pytest.param("open until 6:30 pm", "open until 18:30", id="different-time-format"),
    pytest.param("the price excludes tax", "the price does not include tax", id="negation-in-a-word"),
    pytest.param("not flammable", "non-flammable", id="negation-by-prefix"),
    pytest.param("Hall 4 in Building B", "Building B, Hall 4", id="parts-in-any-order"),
    pytest.param("wool 40%, silk 60%", "60% silk, 40% wool", id="numbers-with-their-items"),
    pytest.param("a shirt in size L", "a shirt in size large", id="size-spelled-out"),
    pytest.param("The Board met in Berlin", "The Board met again in Berlin", id="names-in-their-order"),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "expected", "candidate", "reason"), DIFFERENT)
def test_guard_rejects_a_match_with_a_reason(guard, expected, candidate, reason):
    comparison = Semantic(provider=Gullible()).compare(expected, candidate)
    assert not comparison.matched
    assert comparison.score == 0.0
    assert comparison.similarity < 0.80
    assert comparison.reason is Reason.GUARD_FAILED
    assert comparison.note == reason


@pytest.mark.parametrize(
    ("expected", "candidate", "reason"),
    [
        pytest.param("on 2024-13-05", "on 2024-05-13", "dates differ: none vs. 2024-05-13", id="thirteenth-month-is-not-a-date"),
        pytest.param("on 3.5.0100", "on 3.5.2100", "dates differ: 3.5.0100 vs. 3.5.2100", id="four-digits-are-the-whole-year"),
    ],
)  # fmt: skip
def test_dates_at_the_limits_of_the_calendar(expected, candidate, reason):
    assert Semantic(provider=Gullible()).compare(expected, candidate).note == reason


@pytest.mark.parametrize(("guard", "expected", "candidate", "reason"), DIFFERENT)
def test_each_guard_can_be_switched_off(guard, expected, candidate, reason):
    comparison = Semantic(provider=Gullible(), guards={guard: False}).compare(expected, candidate)
    assert comparison.matched
    assert comparison.score == 0.97


@pytest.mark.parametrize(("guard", "expected", "candidate", "reason"), DIFFERENT)
def test_each_guard_works_alone(guard, expected, candidate, reason):
    others = {name: name == guard for name in GUARDS}
    comparison = Semantic(provider=Gullible(), guards=others).compare(expected, candidate)
    assert comparison.note == reason


def test_all_guards_are_on_by_default():
    assert Guards() == Guards.of(None, default=True) == Guards(**dict.fromkeys(GUARDS, True))


@pytest.mark.parametrize(("expected", "candidate"), SAME)
def test_guards_accept_equivalent_forms(expected, candidate):
    assert Guards().objection(expected, candidate) == ""
    assert Guards().objection(candidate, expected) == ""


def test_similarity_below_the_threshold_has_its_own_reason():
    comparison = Semantic(provider=Gullible(similarity=0.3)).compare("paid 5 times", "paid 6 times")
    assert (comparison.similarity, comparison.note) == (0.3, "")


@pytest.mark.parametrize(
    ("provider", "guards", "matched"),
    [
        pytest.param(Gullible(), None, False, id="on-by-default"),
        pytest.param(Recorded(scores={("it ended", "it has not ended"): 0.9}), None, True, id="off-for-recorded"),
        pytest.param(Recorded(scores={("it ended", "it has not ended"): 0.9}), True, False, id="on-for-recorded-if-provider"),
        pytest.param(Recorded(scores={("it ended", "it has not ended"): 0.9}), {"negation": True}, False, id="enabled-for-recorded"),
        pytest.param(Gullible(), False, True, id="all-off"),
    ],
)  # fmt: skip
def test_default_guards_of_providers(provider, guards, matched):
    comparison = Semantic(provider=provider, guards=guards).compare("it ended", "it has not ended")
    assert comparison.matched is matched


@pytest.mark.parametrize(
    ("guards", "message"),
    [
        pytest.param({"number": False}, "unknown guard 'number'", id="unknown-guard"),
        pytest.param({"numbers": "no"}, "expected true or false", id="word-as-flag"),
        pytest.param("none", "expected an object, got 'none'", id="word"),
    ],
)
def test_invalid_guards_are_rejected(guards, message):
    with pytest.raises(OptionError, match=message):
        Semantic(guards=guards)


@pytest.mark.parametrize(
    ("text", "by_letters"),
    [
        pytest.param("John Smith", True, id="name"),
        pytest.param("J. R. van der Berg", True, id="name-with-particles"),
        pytest.param("Acme Trading & Sons", False, id="sign-between-names"),
        pytest.param("O'Brien-Jones, Mary", True, id="name-with-marks"),
        pytest.param("INV-2041", True, id="identifier"),
        pytest.param("4711", True, id="digits"),
        pytest.param("EUR", True, id="short-code"),
        pytest.param("Approved", False, id="word"),
        pytest.param("Paid in full", False, id="sentence"),
        pytest.param("PAYMENT IS DUE NOW", False, id="capitals-all-over"),
        pytest.param("Senior engineer", False, id="common-noun"),
        pytest.param("One Two Three Four Five Six", False, id="too-many-words"),
    ],
)
def test_names_and_codes_are_recognized(text, by_letters):
    assert is_name_or_code(text) is by_letters


@pytest.mark.parametrize(
    ("expected", "candidate", "matched"),
    [
        pytest.param("John Smith", "John Smyth", True, id="misspelled-name"),
        pytest.param("John Smith", "Smith John", True, id="reversed-name"),
        pytest.param("John Smith", "Mary Jones", False, id="different-name"),
        pytest.param("INV-2041", "inv 2041", True, id="different-identifier-format"),
        pytest.param("INV-2041", "INV-2042", False, id="different-identifier"),
        pytest.param("EUR", "USD", False, id="different-code"),
    ],
)
def test_names_and_codes_are_not_sent_to_the_provider(expected, candidate, matched):
    provider = Recorded(scores={})
    comparison = Semantic(provider=provider, guards=True).compare(expected, candidate)
    assert not comparison.failed
    assert comparison.matched is matched


def test_names_are_sent_to_the_provider_without_the_strings_guard():
    comparison = Semantic(provider=Gullible(), guards={"strings": False}).compare(
        "John Smith", "Mary Jones"
    )
    assert comparison.matched


def identity_of(comparator):
    return canonical_sha256(describe(comparator))


def test_guards_are_part_of_the_identity():
    plain = Semantic(provider=Gullible())
    assert identity_of(plain) == identity_of(Semantic(provider=Gullible(), guards=True))
    others = [
        Semantic(provider=Gullible(), guards={"numbers": False}),
        Semantic(provider=Gullible(), guards=False),
        Semantic(provider=Lexical()),
        Semantic(provider=Gullible(similarity=0.5)),
        Semantic(provider=Gullible(), threshold=0.9),
    ]
    assert len({identity_of(other) for other in [plain, *others]}) == 6
    assert describe(plain)["options"]["guards"]["version"] == 4


def test_many_numbers_and_dates_are_fast():
    numbers = " ".join(str(n) for n in range(100_000, 101_400))
    assert Guards().objection(numbers, numbers) == ""
    dates = " ".join("3 May" for _ in range(1_000))
    assert Guards().objection(dates, dates) == "too many dates to compare (limit 200)"
    assert Guards().objection("1" * 9_000, "1" * 9_000) == ""
