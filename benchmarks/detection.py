"""Compares object detection with pycocotools on the same objects, and checks the metrics.

    python -m benchmarks.detection TRUTH DETECTIONS

prints one measurement of fieldmark as a line of JSON.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

from benchmarks.detection_data import Scenes
from benchmarks.measure import PROJECT, print_table
from benchmarks.peers.environments import Peer, PeerUnavailable
from benchmarks.workloads import cache_directory

FASTER: Final = 8.0
"""The required speedup of the metrics over the peer; box overlaps must not be slower."""
REPEATS: Final = 20
TIMEOUT: Final = 900.0
PEER: Final = Peer(
    package="pycocotools", adapter="pycocotools_eval.py", method="the COCO reference implementation"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The metrics by name, and the CPU seconds for them and for a million box overlaps."""

    metrics: Mapping[str, object]
    cpu: float
    matrix: float


def detection() -> bool:
    """Print both times and their ratios; return whether fieldmark is fast enough and agrees."""
    scenes = Scenes()
    files = [str(path) for path in scenes.write(cache_directory("data"))]
    own = _reading([sys.executable, "-m", "benchmarks.detection", *files])
    workloads = (
        (f"COCO metrics, {scenes.images:,} x {scenes.detections}", "cpu", FASTER),
        ("1,000 x 1,000 boxes", "matrix", 1.0),
    )
    try:
        peer = _reading([str(PEER.python()), str(PEER.script()), *files])
    except PeerUnavailable as reason:
        print(f"detection: skipped because {PEER.package} cannot be installed: {reason}")
        print_table(
            ("detection", "fieldmark"),
            [(name, _seconds(getattr(own, key))) for name, key, _ in workloads],
        )
        return True
    own_metrics = {name: own.metrics.get(name) for name in peer.metrics}
    identical = own_metrics == peer.metrics
    met = identical
    rows = []
    for name, key, least in workloads:
        ratio = getattr(peer, key) / getattr(own, key)
        met &= ratio >= least
        words = "ok" if ratio >= least else "FAIL"
        times = _seconds(getattr(own, key)), _seconds(getattr(peer, key))
        rows.append((name, *times, f"{ratio:.1f} times", f"≥ {least:g} times", words))
    state = "ok" if identical else "FAIL"
    rows.append((f"all {len(peer.metrics)} metrics", "", "", "", "identical", state))
    print_table(("detection", "fieldmark", PEER.package, "speedup", "target", ""), rows)
    return met


def _reading(command: list[str]) -> Reading:
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=PROJECT, check=True, timeout=TIMEOUT)
    return Reading(**orjson.loads(done.stdout.splitlines()[-1]))


def _seconds(cpu: float) -> str:
    return f"{cpu:.2f} s" if cpu >= 0.1 else f"{cpu * 1e3:.1f} ms"


def measured(truth: Path, found: Path) -> Reading:
    """Measure fieldmark on two files, after they are loaded."""
    import numpy as np

    from fieldmark.metrics.average_precision import coco_ap
    from fieldmark.values.geometry import box_ious

    objects = [orjson.loads(path.read_bytes()) for path in (truth, found)]
    coco_ap(objects[0], objects[1][:1000])  # loading numpy is not measured
    start = time.process_time()
    metrics = coco_ap(*objects)
    cpu = time.process_time() - start
    sides = np.random.default_rng(1).random((1_000, 4)) * 100
    boxes = np.hstack([sides, (sides[:, 2:3] * sides[:, 3:])])
    boxes[:, 2:4] += boxes[:, :2]
    box_ious(boxes, boxes)
    start = time.process_time()
    for _ in range(REPEATS):
        box_ious(boxes, boxes)
    matrix = (time.process_time() - start) / REPEATS
    return Reading(metrics=metrics, cpu=cpu, matrix=matrix)


if __name__ == "__main__":
    print(orjson.dumps(asdict(measured(Path(sys.argv[1]), Path(sys.argv[2])))).decode())
