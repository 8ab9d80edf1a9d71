"""Deterministic regions and detections at the size of COCO val, as COCO files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson

CLASSES: Final = 80
REGIONS: Final = 7.3
"""The mean number of regions per image: COCO val has 36,335 on 5,000 images."""
WIDTH, HEIGHT = 640.0, 480.0


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
