"""One image by itself: which detection found which region at a single threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fieldmark.metrics.detection.table import Extent, Found, Truth

__all__ = ["ImageMatch", "match_image"]


class ImageMatch(NamedTuple):
    """Regions with the detections that found them and their overlap, and what stayed alone.

    A crowd is never lost, and a detection inside one is not invented.
    """

    pairs: list[tuple[int, int, float]]
    lost: list[int]
    invented: list[int]


def match_image(
    truths: Sequence[Truth], found: Sequence[Found], threshold: float, most: int
) -> ImageMatch:
    """Match the regions of an image, the surest detection of each class first.

    >>> match_image([Truth((0, 0, 9, 9), "car")], [Found((0, 0, 9, 8), "car")], 0.5, 100).pairs
    [(0, 0, 0.8888888888888888)]
    """
    by_class: dict[str, list[int]] = {}
    for place, truth in enumerate(truths):
        by_class.setdefault(truth.label, []).append(place)
    free = [not truth.crowd for truth in truths]
    seen: dict[str, int] = {}
    match = ImageMatch([], [], [])
    for number in sorted(range(len(found)), key=lambda place: -found[place].score):
        label = found[number].label
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > most:
            continue
        best, overlap, inside = -1, threshold, False
        for place in by_class.get(label, ()):
            iou = _iou(found[number].extent, truths[place])
            if truths[place].crowd:
                inside = inside or iou >= threshold
            elif free[place] and iou >= overlap:
                best, overlap = place, iou
        if best >= 0:
            free[best] = False
            match.pairs.append((best, number, overlap))
        elif not inside:
            match.invented.append(number)
    match.pairs.sort()
    match.invented.sort()
    match.lost.extend(place for place, left in enumerate(free) if left)
    return match


def _iou(found: Extent, truth: Truth) -> float:
    x, y, w, h = found
    left, top, width, height = truth.extent
    across = min(x + w, left + width) - max(x, left)
    if across <= 0:
        return 0.0
    down = min(y + h, top + height) - max(y, top)
    if down <= 0:
        return 0.0
    common = across * down
    union = w * h if truth.crowd else w * h + width * height - common
    return common / union if union > 0 else 0.0
