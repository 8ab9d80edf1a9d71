"""Runs with Ray, in a process of their own: Ray starts threads, which forbid forking in tests.

The argument is a directory with `truth.jsonl`, `found.jsonl` and `eval.yaml`. Everything is written
to it, and errors are printed as JSON by name.
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
from fieldmark.run import ray_engine

STORE = 80 << 20
"""The size of the object store in bytes; Ray requires 75 MB."""


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


def duplicates() -> None:
    fm.score("duplicates.jsonl", "found.jsonl", engine="ray")


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
