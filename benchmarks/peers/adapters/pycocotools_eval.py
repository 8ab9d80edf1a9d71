"""pycocotools: COCO metrics from loaded objects, and all overlaps between two sets of boxes."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from pathlib import Path

import numpy as np
import orjson
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

NAMES = "AP AP50 AP75 APsmall APmedium APlarge AR1 AR10 AR100 ARsmall ARmedium ARlarge"
REPEATS = 20


def main() -> None:
    """Evaluate the two files named on the command line; print the metrics and the CPU seconds."""
    truth, found = (orjson.loads(Path(name).read_bytes()) for name in sys.argv[1:3])
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        expected = COCO()
        expected.dataset = {"info": {}, **truth}
        expected.createIndex()
        evaluation = COCOeval(expected, expected.loadRes(found), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    cpu = time.process_time() - start
    boxes = np.random.default_rng(1).random((1_000, 4)) * 100
    crowds = [0] * len(boxes)
    overlaps = float(mask.iou(boxes, boxes, crowds).sum())
    start = time.process_time()
    for _ in range(REPEATS):
        mask.iou(boxes, boxes, crowds)
    matrix = (time.process_time() - start) / REPEATS
    metrics = dict(zip(NAMES.split(), map(float, evaluation.stats), strict=True))
    print(
        orjson.dumps(
            {"metrics": metrics, "cpu": cpu, "matrix": matrix, "overlaps": overlaps}
        ).decode()
    )


if __name__ == "__main__":
    main()
