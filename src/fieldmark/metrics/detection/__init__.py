"""Object detection over a data set: the twelve COCO metrics and PASCAL VOC average precision."""

from __future__ import annotations

from fieldmark.metrics.detection.coco import coco_ap
from fieldmark.metrics.detection.pascal import pascal_ap

__all__ = ["coco_ap", "pascal_ap"]
