"""Slow COCO metrics: one image, one class, one threshold and one area range at a time.

The fast code must agree to the last digit, so sums are computed in the same order.
"""

from __future__ import annotations

import numpy as np

RANGES = {"": (0, 1e10), "small": (0, 32**2), "medium": (32**2, 96**2), "large": (96**2, 1e10)}
THRESHOLDS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0, 1, 101)


def overlap(found, truth, *, crowd):
    across = min(found[0] + found[2], truth[0] + truth[2]) - max(found[0], truth[0])
    down = min(found[1] + found[3], truth[1] + truth[3]) - max(found[1], truth[1])
    if across <= 0 or down <= 0:
        return 0.0
    common, own = across * down, found[2] * found[3]
    return common / (own if crowd else own + truth[2] * truth[3] - common)


def judged(truths, found, threshold, span):
    """Return (score, matched, counted) per detection by descending score, and the number of regions."""
    ignored = [t.get("iscrowd", 0) or not span[0] <= t["area"] <= span[1] for t in truths]
    order = sorted(range(len(truths)), key=lambda place: bool(ignored[place]))
    taken = set()
    rows = []
    for each in sorted(found, key=lambda f: -f["score"])[:100]:
        best, least = None, min(threshold, 1 - 1e-10)
        for place in order:
            crowd = truths[place].get("iscrowd", 0)
            if place in taken and not crowd:
                continue
            if best is not None and not ignored[best] and ignored[place]:
                break
            iou = overlap(each["bbox"], truths[place]["bbox"], crowd=crowd)
            if iou >= least:
                best, least = place, iou
        outside = not span[0] <= each["bbox"][2] * each["bbox"][3] <= span[1]
        if best is not None:
            taken.add(best)
        counts = not (ignored[best] if best is not None else outside)
        rows.append((each["score"], best is not None, counts))
    return rows, sum(not flag for flag in ignored)


def one_class(ground_truth, detections, category, threshold, span, most):
    """Return the mean precision at 101 recalls, and the recall; `None` if there are no regions."""
    rows, wanted = [], 0
    for image in sorted(image["id"] for image in ground_truth["images"]):
        mine = [
            a
            for a in ground_truth["annotations"]
            if (a["image_id"], a["category_id"]) == (image, category)
        ]
        theirs = [d for d in detections if (d["image_id"], d["category_id"]) == (image, category)]
        own, more = judged(mine, theirs, threshold, span)
        rows += own[:most]
        wanted += more
    if not wanted:
        return None
    tp = fp = 0
    curve = []
    for _, hit, counts in sorted(rows, key=lambda row: -row[0]):
        tp += hit and counts
        fp += not hit and counts
        curve.append((tp / wanted, tp / (fp + tp + np.spacing(1))))
    best = [max((p for r, p in curve[n:]), default=0.0) for n in range(len(curve))]
    sampled = []
    for recall in RECALLS:
        place = next((n for n, (r, _) in enumerate(curve) if r >= recall), None)
        sampled.append(0.0 if place is None else best[place])
    return sampled, (curve[-1][0] if curve else 0.0)


def coco_oracle(ground_truth, detections):
    classes = sorted(category["id"] for category in ground_truth["categories"])

    def results(span, most, thresholds=THRESHOLDS):
        table = [
            [one_class(ground_truth, detections, c, t, RANGES[span], most) for c in classes]
            for t in thresholds
        ]
        precision = [
            row[c][0][r] for row in table for r in range(101) for c in range(len(classes)) if row[c]
        ]
        recall = [each[1] for row in table for each in row if each]
        return [float(np.mean(values)) if values else None for values in (precision, recall)]

    metrics = {"AP": results("", 100)[0]}
    metrics["AP50"] = results("", 100, [0.5])[0]
    metrics["AP75"] = results("", 100, [0.75])[0]
    for span in ("small", "medium", "large"):
        metrics[f"AP{span}"], metrics[f"AR{span}"] = results(span, 100)
    for most in (1, 10, 100):
        metrics[f"AR{most}"] = results("", most)[1]
    return metrics
