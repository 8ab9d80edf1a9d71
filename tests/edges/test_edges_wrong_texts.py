"""Wrong values that once matched are wrong in every result that shows them."""

from __future__ import annotations

import json

import pytest

import fieldmark as fm
from pure_python import with_and_without_kernel
from row_files import lines

__all__ = ["with_and_without_kernel"]

NAME = {"match": "name"}
ADDRESS = {"match": "address"}
IDENTIFIER = {"match": "identifier"}
NUMBERS = {"match": "fuzzy", "numbers": "exact"}
PUNCTUATION = [
    {"match": match, "ignore": ["punctuation"]}
    for match in ("exact_text", "normalized_text", "fuzzy", "contains")
]
DIFFERENT_TEXTS = [
    (NAME, "Acme Ltd", "Acme Acme Acme Ltd"),
    (NAME, "John Smith", "Joan Smith"),
    (NAME, "John Smith", "John Smith Jr"),
    (NAME, "Rubio Victory Committee", "Victory Committee"),
    (ADDRESS, "12 N Main St", "12 S Main St"),
    (ADDRESS, "Flat 2, 14 High Street", "Flat 14, 2 High Street"),
    (ADDRESS, "12 Oak Avenue, Springfield IL", "12 Oak Avenue, Springfield MA"),
    (IDENTIFIER, "A+", "A-"),
    (IDENTIFIER, "1-23", "12-3"),
    (IDENTIFIER, "INV-1.0", "INV-10"),
    (IDENTIFIER, "1/23", "12/3"),
    (IDENTIFIER, "-5", "5"),
    *((rule, "1.5", "15") for rule in PUNCTUATION),
    *((rule, "-5.00", "5.00") for rule in PUNCTUATION[:2]),
    *((rule, "12:30", "1230") for rule in PUNCTUATION),
    *((rule, "10-20", "1020") for rule in PUNCTUATION),
    (NUMBERS, "100 EUR", "-100 EUR"),
    (NUMBERS, "Paragraph 5(a) applies", "Paragraph 5(b) applies"),
    (NUMBERS, "Model A+ sensor kit", "Model A- sensor kit"),
]


@pytest.mark.parametrize(("rule", "expected", "candidate"), DIFFERENT_TEXTS, ids=repr)
def test_texts_with_another_meaning_do_not_match(rule, expected, candidate):
    for pair in ((expected, candidate), (candidate, expected)):
        for documents in ([{"x": text} for text in pair], [{"x": [text]} for text in pair]):
            result = fm.compare(*documents, rules={"x": rule, "x[*]": rule})
            assert result.counts.tp == 0, result.fields


def test_texts_with_another_meaning_are_mistakes_of_a_run(command, folder):
    paths = [f"x{number}" for number in range(len(DIFFERENT_TEXTS))]
    _, expected, candidate = zip(*DIFFERENT_TEXTS, strict=True)
    for name, texts in (("expected", expected), ("candidate", candidate)):
        row = {"id": "a", name: dict(zip(paths, texts, strict=True))}
        (folder / f"{name}.jsonl").write_text(lines([row]), "utf-8")
    fields = [
        {"path": path, **rule} for path, (rule, *_) in zip(paths, DIFFERENT_TEXTS, strict=True)
    ]
    (folder / "rules.json").write_text(json.dumps({"fields": fields}), "utf-8")
    files = ("expected.jsonl", "candidate.jsonl", "--rules", "rules.json")
    done = command("score", *files, "--no-save", "--format", "json", "--min", "micro.f1=0.01")
    micro = done.summary["micro"]
    assert (done.code, micro["tp"], micro["fp"], micro["fn"]) == (1, 0, len(paths), len(paths))


@pytest.mark.parametrize(
    ("values", "candidates"),
    [
        pytest.param(["R1001", "R1002"], ["R1001", "1002"], id="rand"),
        pytest.param(["1001", "1002"], ["1001", "R1002"], id="prefix-in-predictions"),
        pytest.param(["RM1200", "RM1201"], ["RM1200", "1201"], id="ringgit"),
        pytest.param(["CHF100", "CHF101"], ["CHF100", "101"], id="francs"),
        pytest.param(["INR4411", "INR4412"], ["INR4411", "4412"], id="rupees"),
    ],
)
def test_numbers_with_a_prefix_are_proposed_as_identifiers(command, folder, values, candidates):
    for name, texts in (("expected", values), ("candidate", candidates)):
        rows = [{"id": str(place), name: {"doc": text}} for place, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text(lines(rows), "utf-8")
    files = ("expected.jsonl", "candidate.jsonl")
    proposed = command("infer", *files, "--out", "rules.yaml")
    assert proposed.code == 0
    rules = (folder / "rules.yaml").read_text("utf-8")
    assert "{path: doc, match: identifier}" in rules
    assert "different value: 1" in rules
    scored = command("score", *files, "--rules", "rules.yaml", "--no-save", "--format", "json")
    assert scored.summary["attributes"]["doc"]["tp"] == 1
    wrong = fm.compare(
        {"doc": values[1]}, {"doc": f"{values[1][:-4]} 1,002.00"}, rules="rules.yaml"
    )
    assert wrong.counts.tp == 0
