"""Engines: their options, and runs that cannot be distributed."""

from __future__ import annotations

import gc
import json
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fieldmark as fm
from fieldmark.plan.kernel_walk import KernelWalk
from fieldmark.plan.walk import Walk
from fieldmark.runs import ray_engine, run_options
from fieldmark.runs.run_options import complete_options, most_tasks, worker_count


@pytest.mark.parametrize("engine", ["processes", "ray", "ray://head:10001"])
def test_known_engines_are_accepted(engine):
    assert complete_options(engine=engine)["engine"] == engine


@pytest.mark.parametrize("engine", ["", "spark", "Ray", "ray:", "ray://", "ray://a b", "rays"])
def test_unknown_engine_is_an_error_that_lists_the_engines(engine):
    with pytest.raises(fm.ConfigError, match="engine must be one of: processes, ray, ray://HOST"):
        complete_options(engine=engine)


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(run_options, "find_spec", lambda _: None)
    with pytest.raises(fm.MissingExtra, match=r'pip install "fieldmark\[ray\]"'):
        fm.score([({}, {})], engine="ray")


@pytest.mark.parametrize("workers", [0, -1, "two", "", "AUTO"])
def test_invalid_number_of_workers_is_an_error(workers):
    with pytest.raises(fm.ConfigError, match="workers must be 'auto' or an integer of at least 1"):
        fm.score([({}, {})], workers=workers)


def test_auto_is_one_worker_per_available_core(monkeypatch):
    monkeypatch.setattr(run_options.os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert worker_count(complete_options(workers="auto")) == 3
    assert worker_count(complete_options(workers=7)) == 7
    assert worker_count(complete_options()) == 1


@pytest.mark.parametrize(("workers", "most"), [(None, None), ("auto", None), (7, 7)])
def test_cluster_uses_all_its_cores_unless_a_number_is_given(workers, most):
    assert most_tasks(complete_options(engine="ray", workers=workers)) == most


EVAL = """
cases: truth.jsonl
candidates: found.jsonl
evaluators: [{type: field_accuracy, fields: [{path: n}]}]
"""
LINES = "".join(json.dumps({"id": str(n), "n": n}) + "\n" for n in range(3))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("Ray must not be used")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray_engine, "run_on_ray", refuse)
    for name in ("truth.jsonl", "found.jsonl"):
        (tmp_path / name).write_text(LINES)
    (tmp_path / "eval.yaml").write_text(EVAL)
    return tmp_path


def evaluated(folder, **options):
    fm.evaluate("eval.yaml", out="run", engine="ray", **options)


def with_target(folder):
    text = EVAL.replace("candidates: found.jsonl", "target: {command: [cat]}")
    (folder / "eval.yaml").write_text(text)
    evaluated(folder)


def of_one_row_group(folder):
    for name in ("truth", "found"):
        pq.write_table(pa.table({"id": ["1", "2"], "n": [1, 2]}), f"{name}.parquet")
    fm.score("truth.parquet", "found.parquet", out="run", engine="ray")


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        pytest.param(with_target, "a target produces the predictions", id="target"),
        pytest.param(lambda folder: evaluated(folder, cases=["1"]), "cases are selected", id="selection"),
        pytest.param(lambda folder: evaluated(folder, observers=[lambda *_: None]), "the result of each case is reported", id="observer"),
        pytest.param(lambda _: fm.score([({}, {})], out="run", engine="ray"), "the input is not a JSONL or Parquet file", id="in-memory"),
        pytest.param(of_one_row_group, "truth.parquet has a single row group", id="row-group"),
    ],
)  # fmt: skip
def test_run_that_cannot_be_distributed_says_so_before_it_starts(start, reason, folder):
    with pytest.raises(fm.ConfigError, match=f"cannot be distributed with engine ray: {reason}"):
        start(folder)
    assert not (folder / "run").exists()


def sided(name, id_key="id", *, table=False):
    layout = SimpleNamespace(id_key=id_key)
    return SimpleNamespace(source=SimpleNamespace(name=name, is_table=table), layout=layout)


@pytest.mark.parametrize(
    ("engine", "sides", "reason"),
    [
        ("ray", [sided("a.jsonl"), sided("b.jsonl")], ""),
        ("ray", [sided("a.jsonl"), sided("b.jsonl", None)], "rows have no ids"),
        ("ray", [sided("a.jsonl"), sided("b.jsonl.gz")], "b.jsonl.gz is not an uncompressed"),
        ("ray", [sided("a.parquet", table=True), sided("b.jsonl")], "a.parquet is not an uncom"),
        ("ray://head:1", [sided("a.jsonl"), sided("b.jsonl")], "a client of ray://head:1 cannot"),
    ],
)
def test_rows_that_cannot_be_joined_have_a_reason(engine, sides, reason):
    result = ray_engine.why_not_joined(engine, SimpleNamespace(by_id=True, sides=sides))
    assert result.startswith(reason)
    assert bool(result) == bool(reason)


def test_libraries_that_joins_need_are_named(monkeypatch):
    monkeypatch.setattr(ray_engine, "find_spec", lambda name: None if name == "polars" else name)
    stream = SimpleNamespace(by_id=True, sides=[sided("a.jsonl"), sided("b.jsonl")])
    expected = 'polars is missing; install "fieldmark[ray,tables]"'
    assert ray_engine.why_not_joined("ray", stream) == expected


@pytest.mark.parametrize(
    ("engine", "environment", "addresses", "message"),
    [
        ("ray", "", ["local"] * 5, "cannot start a cluster on this machine: out of memory"),
        ("ray", "10.0.0.1:6379", ["10.0.0.1:6379"], "cannot connect to 10.0.0.1:6379: out of"),
        ("ray://head:1", "", ["ray://head:1"], "cannot connect to ray://head:1: out of memory"),
    ],
)
def test_cluster_that_cannot_be_used_is_an_error(
    engine, environment, addresses, message, monkeypatch
):
    calls = []

    def fail(address, **_):
        calls.append(address)
        raise RuntimeError("out of memory\ndetails")

    ray = SimpleNamespace(init=fail, is_initialized=lambda: False, shutdown=lambda: None)
    monkeypatch.setattr(ray_engine, "ray", ray)
    monkeypatch.setenv("RAY_ADDRESS", environment)
    with (
        pytest.raises(fm.ConfigError, match=message) as raised,
        ray_engine.connection(engine, None),
    ):
        pass
    assert "details" not in str(raised.value)
    assert calls == addresses


def plans():
    gc.collect()
    return sum(isinstance(instance, KernelWalk | Walk) for instance in gc.get_objects())


def test_plan_that_is_no_longer_used_is_freed(tmp_path):
    """A worker of a cluster compiles a plan for each task."""
    path = tmp_path / "rows.jsonl"
    path.write_text(LINES)
    before = plans()
    for _ in range(3):
        fm.score(path, path)
    assert plans() <= before
