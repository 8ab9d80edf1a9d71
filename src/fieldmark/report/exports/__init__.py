"""A stored run in the forms that other tools read: one module a form, all fed from one view."""

from __future__ import annotations
