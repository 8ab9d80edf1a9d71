"""Any number of workers produces the same bytes."""

from __future__ import annotations

import gzip
import json
import random
import sys
from contextlib import suppress
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fieldmark as fm
from compressed_files import in_members
from fieldmark.data import file_blocks
from fieldmark.data.inputs import Inputs
from fieldmark.data.pairing import open_pairs
from fieldmark.data.partitions import (
    IdRange,
    JoinedLine,
    PartitionReader,
    Partitions,
    id_ranges,
    joined_partitions,
    partition,
    partition_opener,
    read_ids,
)
from fieldmark.runs import process_engine, session
from fieldmark.runs.case_processor import SEGMENT
from fieldmark.values.json_text import Limits
from partitioned_runs import content, rows, written


@pytest.fixture(autouse=True)
def _small_files_are_shared_too(monkeypatch):
    monkeypatch.setattr(session, "PARALLEL_BYTES", 0)


def scored(tmp_path, files, workers=(1, 2), **options):
    """Return the bytes, the notes and the warnings of a run with each number of workers."""
    runs = []
    for number in workers:
        out = tmp_path / f"run-{number}"
        result = fm.score(*files, out=out, workers=number, **options)
        runs.append(([*content(out)], result.notes, result.summary.warnings))
    return runs


def rewrite(path, change):
    """Change the lines of a file."""
    lines = change(path.read_text().splitlines())
    path.write_text("".join(line + "\n" for line in lines))


@pytest.mark.parametrize(
    ("cases", "missing"),
    [
        pytest.param(4 * SEGMENT + 17, 0.0, id="every-candidate-is-there"),
        pytest.param(3 * SEGMENT, 0.1, id="some-are-missing"),
        pytest.param(SEGMENT - 1, 0.0, id="one-segment"),
    ],
)
@pytest.mark.parametrize("paired", ["by-id", "by-position"])
def test_any_number_of_workers_gives_the_same_bytes(cases, missing, paired, tmp_path):
    # Rows that are paired by position cannot be missing.
    gone = missing if paired == "by-id" else 0.0
    inputs = written(tmp_path, list(rows(cases, seed=cases, missing=gone)))
    options = {} if paired == "by-id" else {"pair": "position"}
    runs = scored(tmp_path, inputs, (1, 2, 3), inputs=options)
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("confidence", [False, True], ids=["plain", "rated"])
def test_any_number_of_workers_reads_the_same_metadata(confidence, tmp_path):
    """The first rows decide for all parts, although later parts have other documents."""
    inputs = written(tmp_path, list(rows(3 * SEGMENT + 17, seed=2)))
    rewrite(inputs[1], lambda lines: [*map(cited, range(len(lines)), lines)])
    runs = scored(tmp_path, inputs, (1, 2, 3), confidence=confidence)
    assert runs[0] == runs[1] == runs[2]
    _, notes, warnings = runs[0]
    assert any("the value is in 'value'" in note for note in notes)
    assert any("documents do not have the metadata of the others" in text for text in warnings)


def cited(place, line):
    """Return a row whose values have citations, except for a third of the later rows."""
    row = json.loads(line)
    if isinstance(row["candidate"], dict) and (place < SEGMENT or place % 3):
        row["candidate"] = {
            key: {"value": value, "citations": [], "confidence": 0.9}
            for key, value in row["candidate"].items()
        }
    return json.dumps(row)


@pytest.mark.parametrize("cases", [1, SEGMENT, 3 * SEGMENT + 5])
def test_any_number_of_workers_rescores_to_the_same_bytes(cases, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[fm.rescore.__module__], "PARALLEL_BYTES", 0)
    run = fm.score(*written(tmp_path, list(rows(cases, seed=cases))), out=tmp_path / "run")
    options = {"wrong_value": "fp"}
    monkeypatch.chdir(tmp_path)
    unsaved = fm.rescore("run", options=options)
    rescored = []
    for workers in (1, 2):
        out = tmp_path / f"rescored-{workers}"
        fm.rescore(run, options=options, out=out, workers=workers)
        rescored.append([*content(out), (out / "attributes.jsonl").read_bytes()])
        assert fm.rescore(run, options=options, workers=workers).summary == unsaved.summary
    assert rescored[0] == rescored[1]


def test_work_is_shared_between_workers(tmp_path):
    inputs = written(tmp_path, list(rows(3 * SEGMENT, seed=1)))
    stream = open_pairs(*inputs)
    found = partition(stream, SEGMENT)
    stream.close()
    assert found is not None
    assert len(list(found)) == 3
    assert found.whole


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda lines: lines[::-1], id="in-another-order"),
        pytest.param(lambda lines: random.Random(1).sample(lines, len(lines)), id="shuffled"),
        pytest.param(lambda lines: [*lines, lines[0].replace('"0"', '"new"')], id="one-extra"),
        pytest.param(lambda lines: [lines[0], "", *lines[1:]], id="blank-line"),
        pytest.param(lambda lines: ["{" + lines[0][10:], *lines[1:]], id="no-id-in-front"),
    ],
)
def test_files_that_cannot_be_partitioned_have_the_same_result(change, tmp_path):
    inputs = written(tmp_path, list(rows(3 * SEGMENT + 5, seed=3)))
    rewrite(inputs[1], change)
    one, two = scored(tmp_path, inputs)
    assert one[0] == two[0]


@pytest.mark.parametrize("sides", [[0], [1], [0, 1]], ids=["truth", "candidate", "both"])
@pytest.mark.parametrize("paired", ["by-id", "by-position"])
@pytest.mark.parametrize(
    "irregular",
    [
        pytest.param(" ", id="blank"),
        pytest.param("[1]", id="no-object"),
    ],
)
def test_irregular_line_near_the_end_does_not_change_the_result(irregular, sides, paired, tmp_path):
    inputs = written(tmp_path, list(rows(3 * SEGMENT, seed=7)))
    place = SEGMENT + 100
    for side in sides:
        rewrite(inputs[side], lambda lines: [*lines[:place], irregular, *lines[place:]])
    options = {} if paired == "by-id" else {"pair": "position"}
    one, two = scored(tmp_path, inputs, inputs=options)
    assert one == two


@pytest.mark.parametrize("side", [0, 1], ids=["truth", "candidate"])
def test_line_beyond_the_limit_is_an_error(side, tmp_path):
    inputs = written(tmp_path, list(rows(2 * SEGMENT, seed=7)))
    long = '"text": "' + "long " * 20_000
    rewrite(
        inputs[side], lambda lines: [*lines[:-5], lines[-5].replace('"text": "', long), *lines[-4:]]
    )
    with pytest.raises(fm.DataError, match="line exceeds the limit of 4,096 bytes"):
        fm.score(*inputs, inputs=Inputs(limits=Limits(line_bytes=4096)), workers=2)


def test_metrics_are_the_same_without_a_run_directory(tmp_path):
    inputs = written(tmp_path, list(rows(2 * SEGMENT, seed=5)))
    assert fm.score(*inputs, workers=2).to_dict() == fm.score(*inputs).to_dict()


def test_duplicate_id_is_an_error(tmp_path):
    inputs = written(tmp_path, list(rows(SEGMENT + 5, seed=3)))
    rewrite(inputs[0], lambda lines: [*lines, lines[0]])
    with pytest.raises(fm.DataError, match="duplicate id"):
        fm.score(*inputs, workers=2)


@pytest.mark.parametrize("threads", [1, 2], ids=["forked", "spawned"])
def test_worker_that_is_killed_is_replaced(threads, tmp_path, monkeypatch):
    inputs = written(tmp_path, list(rows(12 * SEGMENT, seed=9)))
    fm.score(*inputs, out=tmp_path / "whole")
    result, pools = process_engine._WorkerPool.result, []

    def kill_and_wait(self, pending):
        """Kill a worker of the first pool while it starts, and one of the next while it works."""
        if len(pools) < 2 and self._executor not in pools:
            pools.append(self._executor)
            [*self._executor._processes.values()][-1].kill()
        return result(self, pending)

    monkeypatch.setattr(process_engine._WorkerPool, "result", kill_and_wait)
    monkeypatch.setattr(process_engine, "threading", SimpleNamespace(active_count=lambda: threads))
    fm.score(*inputs, out=tmp_path / "killed", workers=2)
    assert len(pools) == 2
    assert content(tmp_path / "killed") == content(tmp_path / "whole")


EVAL = """
cases: truth.jsonl
candidates: found.jsonl
evaluators:
  - {name: fields, type: field_accuracy, fields: [{path: n}, {path: text, match: fuzzy}]}
  - {name: schema, type: json_schema, schema: {properties: {text: {minLength: 6}}}}
  - {name: unused, type: field_accuracy, fields: [{path: n}, {path: txet}]}
  - name: both
    type: composite
    evaluators:
      - {name: all, type: extraction_metrics}
      - {name: boxes, type: detection_ap, boxes: "boxes[].bbox", class: null, score: "boxes[].score"}
"""


def with_boxes(line, chance):
    """Return a row whose document has some boxes; an invalid row is not changed."""
    with suppress(ValueError):
        row = json.loads(line)
        document = row.get("expected", row.get("candidate"))
        if isinstance(document, dict):
            x, y = chance.choices(range(9), k=2)
            box = {"bbox": [x, y, x + 5, y + 9], "score": chance.random()}
            document["boxes"] = [box] * chance.randrange(3)
        return json.dumps(row)
    return line


@pytest.fixture
def evaluation(tmp_path, monkeypatch):
    """A directory with an eval file whose evaluators collect everything that they can."""
    chance = random.Random(1)
    pairs = [[with_boxes(line, chance) for line in pair] for pair in rows(3 * SEGMENT, seed=11)]
    written(tmp_path, pairs)
    (tmp_path / "eval.yaml").write_text(EVAL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_evaluation_gives_the_same_bytes_with_any_number_of_workers(evaluation, monkeypatch):
    used = []
    monkeypatch.setattr(
        process_engine, "run_partitions", spied(process_engine.run_partitions, used)
    )
    for workers in (1, 2):
        fm.evaluate("eval.yaml", out=evaluation / f"run-{workers}", workers=workers)
    one, two = (content(evaluation / f"run-{workers}") for workers in (1, 2))
    assert len(used) == 1
    assert one == two
    assert "did you mean 'text'" in one[1].decode()


def spied(function, calls):
    def call(*arguments, **options):
        calls.append(arguments)
        return function(*arguments, **options)

    return call


def test_file_that_changes_during_a_run_is_an_error(tmp_path):
    inputs = written(tmp_path, list(rows(2 * SEGMENT, seed=5)))
    stream = open_pairs(*inputs)
    found = partition(stream, SEGMENT)
    parts = list(found)
    with inputs[1].open("a") as file:
        file.write("{}\n")
    with pytest.raises(fm.DataError, match=r"found\.jsonl: the file has changed while it was read"):
        list(PartitionReader(found.opener).open(parts[1]).batches())
    with pytest.raises(fm.DataError, match=r"found\.jsonl: the file has [\d,]+ bytes, expected"):
        found.opener.check_readable()
    stream.close()


def compressed(path, suffix):
    """Write the same rows in parts of 10,000 bytes, or in row groups of 100 rows."""
    if suffix == "parquet":
        other = path.with_suffix(".parquet")
        # A table needs rows of one type, which have other values than those of the JSONL file.
        documents = [{"id": str(n), "n": n, "text": f"row {n}"} for n in range(3 * SEGMENT + 5)]
        pq.write_table(pa.Table.from_pylist(documents), other, row_group_size=100)
        return other
    content = path.read_bytes()
    other = path.with_name(f"{path.name}.{suffix}")
    other.write_bytes(in_members(content, [*range(0, len(content), 10_000)], suffix))
    return other


@pytest.mark.parametrize(
    ("truth", "found", "missing"),
    [
        pytest.param("gz", "gz", 0.0, id="gzip"),
        pytest.param("zst", "", 0.0, id="zstd-and-lines"),
        pytest.param("parquet", "gz", 0.0, id="parquet-and-gzip"),
        pytest.param("parquet", "parquet", 0.0, id="parquet"),
        pytest.param("gz", "zst", 0.1, id="some-are-missing"),
    ],
)
def test_compressed_files_and_tables_are_divided_to_the_same_bytes(
    truth, found, missing, tmp_path, monkeypatch
):
    monkeypatch.setattr(file_blocks, "_SEARCH_BYTES", 5_000)
    monkeypatch.setattr(file_blocks, "_BLOCK_BYTES", 20_000)
    used = []
    monkeypatch.setattr(
        process_engine, "run_partitions", spied(process_engine.run_partitions, used)
    )
    inputs = written(tmp_path, list(rows(3 * SEGMENT + 5, seed=3, missing=missing)))
    inputs = [
        compressed(path, suffix) if suffix else path
        for path, suffix in zip(inputs, (truth, found), strict=True)
    ]
    one, two = scored(tmp_path, inputs)
    assert one == two
    assert len(used) == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("truth.jsonl.gz", "truth.jsonl.gz is a single gzip member"),
        ("truth.parquet", "truth.parquet has a single row group"),
    ],
)
def test_file_that_cannot_be_divided_is_noted(name, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    documents = [{"id": str(n), "n": n} for n in range(2 * SEGMENT)]
    lines = "".join(json.dumps(each) + "\n" for each in documents)
    (tmp_path / "found.jsonl").write_text(lines)
    if name.endswith("gz"):
        (tmp_path / name).write_bytes(gzip.compress(lines.encode()))
    else:
        pq.write_table(pa.Table.from_pylist(documents), name)
    one, two = scored(tmp_path, (name, "found.jsonl"))
    assert one[0] == two[0]
    assert [*one[1], f"compared in one process: {reason}"] == [*two[1]]


def joined_lines(stream):
    """Return the lines of both files joined by id, in the order of the truth."""
    sides = [
        [line for part in id_ranges(side.source, "id", 1 << 20, 3) for line in read_ids(part)]
        for side in stream.sides
    ]
    found = {each.id: each for each in sides[1]}
    for own in sides[0]:
        theirs = found.get(own.id)
        candidate = (None, None, None) if theirs is None else theirs[1:]
        yield JoinedLine(*own[1:], *candidate)


@pytest.mark.parametrize("size", [50, 999, 1 << 20], ids="blocks-of-{}".format)
def test_joined_lines_in_any_order_are_the_cases_of_the_whole_files(size, tmp_path, monkeypatch):
    monkeypatch.setattr(file_blocks, "_BLOCK_BYTES", size)
    inputs = written(tmp_path, list(rows(2 * SEGMENT + 5, seed=3, missing=0.1)))
    lines = inputs[1].read_text().splitlines(keepends=True)
    lines[-1] = lines[-1].rstrip("\n")
    inputs[1].write_text("".join(random.Random(2).sample(lines[:-1], len(lines) - 1) + lines[-1:]))
    stream = open_pairs(*inputs)
    opener = partition_opener(stream)
    parts = list(joined_partitions(joined_lines(stream), SEGMENT))
    assert len(parts) == 3
    assert sum(part.size for part in parts) == sum(path.stat().st_size for path in inputs)
    reader = PartitionReader(opener)
    cases = [case for part in parts for batch in reader.open(part).batches() for case in batch]
    assert repr(cases) == repr([case for batch in stream.batches() for case in batch])


@pytest.mark.parametrize(
    "line",
    [
        *("", "[1]", '{"n": 1, "id": "a"}', '{"id": 1.5}', '{"id": "a\\u0062"}', '{"id": null}'),
        pytest.param('{"id": 3, "text": "%s"}' % ("long" * 30), id="beyond-the-limit"),
    ],
)
def test_line_without_an_id_in_front_is_not_joined(line, tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"id": "1", "n": 1}\n' + line + '\n{"id": 2}\n')
    whole = IdRange(str(path), "id", 0, path.stat().st_size, 1, aligned=True, limit=100)
    assert [each.number for each in read_ids(whole)] == [-1]


@pytest.mark.parametrize(
    ("numbers", "complete"),
    [([1, 2, 3], 2), ([-1, 1, 2], 0), ([1, 1, 2], 0), ([1, 2, 2], 1), ([1, 2, 4], 1), ([], 0)],
    ids=["in-order", "extra-candidate", "duplicate", "duplicate-later", "gap", "empty"],
)
def test_partitions_end_before_a_line_that_cannot_be_joined(numbers, complete):
    lines = [JoinedLine(number, 10, 20, number, 30, 40) for number in numbers]
    found = Partitions(SimpleNamespace(), joined_partitions(lines, 2))
    assert len(list(found)) == complete
    assert found.whole == (numbers in ([1, 2, 3], []))
