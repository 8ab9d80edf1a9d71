"""Thresholds that come from a calibration."""

from __future__ import annotations

from typing import Self


class CalibratedThreshold(float):
    """A threshold with the hash of the calibration that it comes from.

    The hash is part of the identity of a rule, so that another calibration is another rule.
    """

    calibration: str

    def __new__(cls, threshold: float, calibration: str = "") -> Self:
        """Return a threshold with its calibration."""
        made = super().__new__(cls, threshold)
        made.calibration = calibration
        return made
