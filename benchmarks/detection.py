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
from math import isclose
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from benchmarks.measure import PROJECT, cache_directory, print_table, verdict
from benchmarks.peers.compare import Peer, PeerUnavailable

FASTER: Final = 8.0
"""The required speedup of the metrics over the peer; box overlaps must not be slower."""
SAME_OVERLAPS: Final = 1e-9
"""The largest relative difference of two sums of overlaps, which are added in another order."""
REPEATS: Final = 20
TIMEOUT: Final = 900.0
PEER: Final = Peer(
    package="pycocotools", adapter="pycocotools_eval.py", method="the COCO reference implementation"
)
CLASSES: Final = 80
REGIONS: Final = 7.3
"""The mean number of regions per image: COCO val has 36,335 on 5,000 images."""
WIDTH, HEIGHT = 640.0, 480.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The metrics by name, and the CPU seconds for them and for a million box overlaps.

    `overlaps` is the sum of the overlaps.
    """

    metrics: Mapping[str, object]
    cpu: float
    matrix: float
    overlaps: float


def detection() -> bool | None:
    """Print both times and their ratios; return whether fieldmark is fast enough and agrees.

    Return `None` without the peer.
    """
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
        return None
    own_metrics = {name: own.metrics.get(name) for name in peer.metrics}
    identical = own_metrics == peer.metrics
    same_overlaps = isclose(own.overlaps, peer.overlaps, rel_tol=SAME_OVERLAPS)
    met = identical and same_overlaps
    rows = []
    for name, key, least in workloads:
        ratio = getattr(peer, key) / getattr(own, key)
        met &= ratio >= least
        state = verdict(ok=ratio >= least)
        times = _seconds(getattr(own, key)), _seconds(getattr(peer, key))
        rows.append((name, *times, f"{ratio:.1f} times", f"≥ {least:g} times", state))
    name = f"all {len(peer.metrics)} metrics"
    rows.append((name, "", "", "", "identical", verdict(ok=identical)))
    overlaps = f"{own.overlaps:,.3f}", f"{peer.overlaps:,.3f}"
    rows.append(("sum of the overlaps", *overlaps, "", "equal", verdict(ok=same_overlaps)))
    print_table(("detection", "fieldmark", PEER.package, "speedup", "target", ""), rows)
    return met


def _reading(command: list[str]) -> Reading:
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=PROJECT, check=True, timeout=TIMEOUT)
    return Reading(**orjson.loads(done.stdout.splitlines()[-1]))


def _seconds(cpu: float) -> str:
    return f"{cpu:.2f} s" if cpu >= 0.1 else f"{cpu * 1e3:.1f} ms"


def measured(truth: Path, found: Path) -> Reading:
    """Measure fieldmark on two files, after they are loaded."""
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
    overlaps = float(box_ious(boxes, boxes).sum())
    start = time.process_time()
    for _ in range(REPEATS):
        box_ious(boxes, boxes)
    matrix = (time.process_time() - start) / REPEATS
    return Reading(metrics=metrics, cpu=cpu, matrix=matrix, overlaps=overlaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenes:
    """Images with regions of a few classes each, and the same number of detections for each.

    Half of the detections are regions detected with errors, often more than once; the others are
    extra, mostly of classes that occur in the image.
    """

    images: int = 5_000
    detections: int = 100

    def write(self, directory: Path) -> tuple[Path, Path]:
        """Return the truth file and the detections file, and create them if they do not exist."""
        home = directory / f"scenes-2-{self.images}x{self.detections}"
        truth, found = home / "truth.json", home / "detections.json"
        if not found.exists():
            home.mkdir(parents=True, exist_ok=True)
            regions, results = self.made()
            truth.write_bytes(orjson.dumps(regions))
            found.write_bytes(orjson.dumps(results))
        return truth, found

    def made(self) -> tuple[dict[str, list[dict[str, object]]], list[dict[str, object]]]:
        """Return the truth object and the list of detections."""
        random = np.random.default_rng(2014)
        annotations: list[dict[str, object]] = []
        results: list[dict[str, object]] = []
        for image in range(1, self.images + 1):
            labels, boxes = _regions(random)
            for label, box in zip(labels.tolist(), boxes.tolist(), strict=True):
                share = 0.5 + 0.5 * random.random()
                annotations.append(
                    {
                        "id": len(annotations) + 1,
                        "image_id": image,
                        "category_id": label,
                        "bbox": box,
                        "area": round(box[2] * box[3] * share, 4),
                        "iscrowd": int(random.random() < 0.01),
                    }
                )
            found_labels, found, scores = _detections(random, labels, boxes, self.detections)
            results += (
                {"image_id": image, "category_id": label, "bbox": box, "score": score}
                for label, box, score in zip(
                    found_labels.tolist(), found.tolist(), scores.tolist(), strict=True
                )
            )
        truth: dict[str, list[dict[str, object]]] = {
            "images": [{"id": image} for image in range(1, self.images + 1)],
            "annotations": annotations,
            "categories": [{"id": n, "name": f"class {n}"} for n in range(1, CLASSES + 1)],
        }
        return truth, results


def _regions(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and boxes of an image; some classes are far more frequent than others."""
    kinds = np.minimum(1 + random.geometric(0.06, size=random.integers(1, 5)), CLASSES)
    labels = random.choice(kinds, size=random.poisson(REGIONS))
    sizes = np.exp(random.normal(4.0, 1.0, size=(len(labels), 2))).clip(4, 460)
    corners = random.random((len(labels), 2)) * (np.array([WIDTH, HEIGHT]) - sizes).clip(1)
    return labels, np.round(np.hstack([corners, sizes]), 2)


def _detections(
    random: np.random.Generator, labels: np.ndarray, boxes: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return detections of regions, with errors, and extra detections."""
    seen = random.integers(len(labels), size=count // 2) if len(labels) else np.empty(0, dtype=int)
    sizes = np.tile(boxes[seen][:, 2:], 2)
    near = boxes[seen] + random.normal(0, 0.12, size=(len(seen), 4)) * sizes
    far = np.empty((0, 4))
    while len(far) < count - len(seen):
        far = np.vstack([far, _regions(random)[1]])
    far = far[: count - len(seen)]
    pool = np.concatenate([labels, labels, random.integers(1, CLASSES + 1, size=5)])
    found = np.round(np.vstack([near, far]), 2)
    found[:, 2:] = found[:, 2:].clip(1)
    scores = np.concatenate([random.beta(4, 2, len(near)), random.beta(1.5, 6, len(far))])
    return np.concatenate([labels[seen], random.choice(pool, len(far))]), found, scores.round(3)


if __name__ == "__main__":
    print(orjson.dumps(asdict(measured(Path(sys.argv[1]), Path(sys.argv[2])))).decode())
