"""Processes one hostile document shape, and prints what it cost.

    python measured_shapes.py SHAPE DIRECTORY

It prints the size of the documents as JSON; for each action, the size of its documents and of what
it wrote or returned; and the peak memory above that for tiny documents.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import fieldmark as fm

LONG = 3_900


def _leaves(number: int) -> dict[str, object]:
    return {str(place): 1 for place in range(number)}


def _chain(levels: int, key: str, core: object) -> object:
    for _ in range(levels):
        core = {key: core}
    return core


SHAPES = {
    "long-key-with-leaves": lambda: [{"k" * LONG: _leaves(80)}],
    "long-key-with-too-many-leaves": lambda: [{"k" * 300_000: _leaves(3_000)}],
    "long-path-with-too-many-leaves": lambda: [{"k" * LONG: _leaves(20_000)}],
    "chain-of-long-keys": lambda: [_chain(20, "k" * 2_000, 1)],
    "deep-chain-with-leaves": lambda: [_chain(190, "ab", _leaves(400))],
    "deep-chain-with-too-many-leaves": lambda: [_chain(190, "abcd", _leaves(5_000))],
    "list-below-a-long-key": lambda: [{"k" * LONG: [0] * 80}],
    "list-below-a-key-beyond-the-limit": lambda: [{"k" * LONG: [0] * 20_000}],
    "lists-of-lists": lambda: [{"k" * 200: [[[[1]] * 10] * 10] * 50}],
    "long-list": lambda: [{"a": [0] * 5_000}],
    "many-keys": lambda: [{f"key{place}": 1 for place in range(3_000)}],
    "documents-with-new-keys": lambda: [
        {f"d{number}k{place}": 1 for place in range(20)} for number in range(100)
    ],
    "documents-with-new-long-keys": lambda: [
        {f"{number:03}" * 333: _leaves(300)} for number in range(20)
    ],
    "escaped-keys": lambda: [{"\x01" * LONG: _leaves(80)}],
    "quoted-keys": lambda: [{'".\U0001f600' * 1_300: _leaves(80)}],
}


def _score(expected: list[object], candidate: list[object], directory: Path) -> int:
    directory.mkdir()
    for name, documents in (("t.jsonl", expected), ("c.jsonl", candidate)):
        rows = ({"id": str(place), "v": each} for place, each in enumerate(documents))
        (directory / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run = directory / "run"
    fm.score(directory / "t.jsonl", directory / "c.jsonl", out=run, intervals=False)
    return sum(file.stat().st_size for file in run.rglob("*") if file.is_file())


def _compare(expected: list[object], candidate: list[object], directory: Path) -> int:
    del directory
    total = 0
    for ours, theirs in zip(expected, candidate, strict=True):
        try:
            text = json.dumps(fm.compare(ours, theirs).to_dict(), allow_nan=False)
        except fm.LimitError as error:
            text = str(error)
        total += len(text)
    return total


def _request(expected: list[object], candidate: list[object], directory: Path) -> int:
    from unit.web.live_server import live

    total = 0
    directory.mkdir()
    with live(directory) as server:
        for ours, theirs in zip(expected, candidate, strict=True):
            body = json.dumps({"expected": ours, "candidate": theirs, "view": True})
            headers = {"Content-Type": "application/json"}
            answer = server.client.post("/api/evaluate", content=body, headers=headers)
            assert answer.status_code in (200, 422), answer.text[:500]
            total += len(answer.content)
    return total


ACTIONS = {"score": _score, "compare": _compare, "request": _request}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(shape: str, directory: Path) -> None:
    """Process the shape as candidate, as ground truth, and as both."""
    documents: list[object] = SHAPES[shape]()
    for action, run in ACTIONS.items():
        run([{"a": 1}], [{"b": 1}], directory / f"{action}-tiny")
    before = _peak()
    print(len(json.dumps(documents)))  # noqa: T201
    for action, run in ACTIONS.items():
        # A response is about one document; a run is about all of them.
        used = documents if action == "score" else documents[:1]
        tiny: list[object] = [{"a": 1}] * len(used)
        sides = [(tiny, used), (used, tiny), (used, used)]
        sizes = [run(*each, directory / f"{action}-{n}") for n, each in enumerate(sides)]
        print(len(json.dumps(used)), max(sizes))  # noqa: T201
    print(_peak() - before)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
