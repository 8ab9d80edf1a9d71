"""Runs with Ray, in a process of their own: Ray starts threads, which forbid forking in tests.

The argument is a directory with `truth.jsonl`, `found.jsonl`, both compressed in members,
`reversed.jsonl`, `eval.yaml` and `few.jsonl` with some of the cases. Everything is written to it, and errors are printed as JSON
by name.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import ray

import fieldmark as fm
from edges.llm_server import serving
from fieldmark.data import file_blocks
from fieldmark.runs import ray_engine

os.environ.setdefault("RAY_worker_niceness", "0")  # otherwise a busy machine delays all tasks
STORE = 80 << 20
"""The size of the object store in bytes; Ray requires 75 MB."""


JUDGED = """
cases: few.jsonl
provider: {{type: openai, {options}}}
evaluators:
  - {{name: fields, type: field_accuracy, fields: [{{path: text, match: semantic}}]}}
  - {{name: judge, type: llm_judge, rubric: Does it say the same?, {options}, {budget}}}
  - {{name: program, type: code_judge, script: [cat]}}
"""


def main(directory: Path) -> None:
    os.chdir(directory)
    start_cluster()
    ray_engine._TASK_SEGMENTS = 2  # several tasks for each run
    inputs = "truth.jsonl", "found.jsonl"
    fm.score(*inputs, out="ray", engine="ray")
    fm.score(*inputs, out="ray-one", engine="ray", workers=1, values=False)
    Path("unsaved.json").write_text(json.dumps(fm.score(*inputs, engine="ray").to_dict()))
    fm.evaluate("eval.yaml", out="ray-eval", engine="ray")
    fm.rescore("ray", options={"wrong_value": "fp"}, out="ray-rescored", engine="ray")
    file_blocks._SEARCH_BYTES = 20_000  # several parts of each file
    fm.score("truth.jsonl.gz", "found.jsonl.zst", out="ray-compressed", engine="ray")
    reversed_rows = fm.score("truth.jsonl.gz", "reversed.jsonl", engine="ray", out="ray-reversed")
    Path("notes.json").write_text(json.dumps(reversed_rows.notes))
    Path("calls.json").write_text(json.dumps(judged()))
    errors = {}
    for failing in (duplicates, unreadable, other_version):
        try:
            failing()
        except fm.FieldmarkError as error:
            errors[failing.__name__] = [type(error).__name__, str(error)]
    sys.stdout.write(json.dumps(errors))
    ray.shutdown()


def start_cluster() -> None:
    """Start a small cluster; Ray waits only 30 seconds for it, so several times if necessary."""
    while not ray.is_initialized():
        try:
            ray.init(
                "local",
                num_cpus=2,
                include_dashboard=False,
                object_store_memory=STORE,
                log_to_driver=False,
                _node_ip_address="127.0.0.1",
            )
        except Exception:  # noqa: BLE001 - Ray raises it
            traceback.print_exc()
            ray.shutdown()


def judged() -> dict[str, int]:
    """Evaluate with models and a program, in one process and on the cluster; count the calls."""
    calls = {}
    with serving() as server:
        for out, engine, budget in (
            ("serial-judged", "processes", ""),
            ("ray-judged", "ray", ""),
            ("ray-budget", "ray", "max_calls: 7"),
        ):
            options = f"model: m, base_url: {server.url}, cache: false"
            text = JUDGED.format(options=options, budget=budget)
            Path("judged.yaml").write_text(text)
            before = server.attempts
            fm.evaluate("judged.yaml", out=out, engine=engine)
            calls[out] = server.attempts - before
    return calls


def duplicates() -> None:
    """Score cases of which the first and the last have the same id, on both sides."""
    fm.score("truth-duplicates.jsonl", "found-duplicates.jsonl", engine="ray")


def unreadable() -> None:
    """Score predictions that only this process can read."""
    original = ray_engine.run_on_ray

    def elsewhere(job, *arguments, **options):
        side = replace(job.opener.candidate, path="/elsewhere/found.jsonl")
        job = replace(job, opener=replace(job.opener, candidate=side))
        return original(job, *arguments, **options)

    ray_engine.run_on_ray = elsewhere
    try:
        fm.score("truth.jsonl", "found.jsonl", engine="ray")
    finally:
        ray_engine.run_on_ray = original


def other_version() -> None:
    own, ray_engine.VERSION = ray_engine.VERSION, "0.0.1"
    try:
        fm.score("truth.jsonl", "found.jsonl", engine="ray")
    finally:
        ray_engine.VERSION = own


if __name__ == "__main__":
    main(Path(sys.argv[1]))
