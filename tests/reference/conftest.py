"""Every test of this directory runs with the kernel and without it."""

from __future__ import annotations

from pure_python import with_and_without_kernel

__all__ = ["with_and_without_kernel"]
