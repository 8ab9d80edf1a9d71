"""What is probably wrong with the input as a whole is said, and nothing is read otherwise."""

from __future__ import annotations

import json

import pytest

from fieldmark.data.pairing import open_pairs

TRUTH = [{"id": f"inv-{n}", "total": n, "vendor": "x"} for n in (1, 2)]


def warnings_of(truth, candidate, **options):
    stream = open_pairs(truth, candidate, **options)
    for _ in stream.batches():
        pass
    return stream.warnings


@pytest.fixture
def truth(tmp_path):
    path = tmp_path / "truth.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in TRUTH))
    return path


@pytest.mark.parametrize("in_memory", [True, False])
def test_ids_that_have_nothing_in_common_are_told(tmp_path, truth, in_memory):
    strange = [{**row, "id": f"x-{place}"} for place, row in enumerate(TRUTH)]
    path = tmp_path / "candidate.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in strange))
    said = warnings_of(*((TRUTH, strange) if in_memory else (truth, path)))
    assert said[0] == (
        "no candidate has the id of a truth (truth: 'inv-1', 'inv-2', …; "
        "candidate: 'x-0', 'x-1', …): nothing was paired"
    )


@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param([TRUTH[0], {"id": "x"}], id="one-is-shared"),
        pytest.param([TRUTH[1]], id="one-is-missing"),
    ],
)
def test_one_id_in_common_is_enough(candidate):
    assert not [text for text in warnings_of(TRUTH, candidate) if "nothing was paired" in text]


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        pytest.param("id,total\ninv-1,1\n", "CSV; name it .csv", id="csv"),
        pytest.param("id\ttotal\ninv-1\t1\n", "TSV; name it .tsv", id="tsv"),
        pytest.param("- id: inv-1\n  total: 1\n", "YAML; only", id="yaml"),
        pytest.param("---\nid: 1\n", "YAML; only", id="yaml-with-a-rule-above"),
        pytest.param("<a>\n</a>\n", "XML or HTML; only", id="xml"),
        pytest.param('{\n  "id": "inv-1",\n}\n', "JSON over several lines", id="indented-json"),
    ],
)
def test_a_file_of_which_no_row_can_be_read_is_told_by_its_looks(tmp_path, truth, content, looks):
    path = tmp_path / "candidate.jsonl"
    path.write_text(content)
    said = warnings_of(truth, path)
    assert [text for text in said if f"no candidate can be read; it looks like {looks}" in text]
    said = warnings_of(path, truth)
    assert [text for text in said if f"no truth can be read; it looks like {looks}" in text]


def test_a_single_bad_row_says_nothing_of_the_file(tmp_path, truth):
    path = tmp_path / "candidate.jsonl"
    path.write_text("id,total\n" + json.dumps(TRUTH[1]) + "\n")
    assert not [text for text in warnings_of(truth, path) if "looks like" in text]


def wrapping(**more):
    return [{"id": row["id"], "status": "ok", "data": row, "model": "m", **more} for row in TRUTH]


@pytest.mark.parametrize(
    ("candidate", "told"),
    [
        pytest.param(wrapping(), True, id="documents-under-a-key"),
        pytest.param(wrapping(usage={"tokens": 1}), False, id="two-keys-hold-objects"),
        pytest.param(wrapping(total=1, vendor="x"), False, id="the-row-is-the-document"),
        pytest.param(TRUTH, False, id="plain-documents"),
        pytest.param(
            [{"id": row["id"], "data": {"other": 1}} for row in TRUTH], False, id="another-object"
        ),
    ],
)
def test_documents_below_a_key_are_hinted_at(candidate, told):
    said = [text for text in warnings_of(TRUTH, candidate) if "--candidate data" in text]
    assert bool(said) is told
