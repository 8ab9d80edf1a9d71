"""Score extracted data against ground truth.

>>> import fieldmark as fm
>>> fm.compare({"total": 10}, {"total": 10}).score
1.0
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fieldmark.api.assertions import assert_extraction
    from fieldmark.api.calibrate import Calibration, calibrate
    from fieldmark.api.compare import compare
    from fieldmark.api.compare_many import ManyResult, compare_many
    from fieldmark.api.consensus import ConsensusResult, consensus
    from fieldmark.api.diff import DiffResult, diff
    from fieldmark.api.evaluate import evaluate
    from fieldmark.api.explain import ExplainResult, explain
    from fieldmark.api.improve import ImproveResult, improve
    from fieldmark.api.infer import ProposedRules, infer, rules_from
    from fieldmark.api.label import LabelSheet, label
    from fieldmark.api.lint import LintResult, lint
    from fieldmark.api.plugins import plugins
    from fieldmark.api.power import PowerResult, power
    from fieldmark.api.preview import PreviewResult, preview_rules
    from fieldmark.api.rank import RankResult, rank
    from fieldmark.api.rescore import rescore
    from fieldmark.api.review import (
        ReviewQueue,
        ReviewResult,
        add_review,
        review,
        review_queue,
        undo_review,
    )
    from fieldmark.api.runs import RunList, open_run, runs
    from fieldmark.api.score import score
    from fieldmark.api.score_many import ScoredRuns, score_many
    from fieldmark.api.slices import FindSlicesResult, find_slices
    from fieldmark.api.triage import ThresholdSet, TriageResult, thresholds, triage
    from fieldmark.data.inputs import Inputs
    from fieldmark.errors import (
        ConfigError,
        DataError,
        FieldmarkError,
        LimitError,
        MissingExtra,
        OptionError,
        StorageError,
    )
    from fieldmark.metrics.summary import Summary
    from fieldmark.model.json import MISSING
    from fieldmark.run.result import EvalResult, RunResult
    from fieldmark.wire.case_result import CaseResult, FieldResult

__all__ = [
    "MISSING",
    "Calibration",
    "CaseResult",
    "ConfigError",
    "ConsensusResult",
    "DataError",
    "DiffResult",
    "EvalResult",
    "ExplainResult",
    "FieldResult",
    "FieldmarkError",
    "FindSlicesResult",
    "ImproveResult",
    "Inputs",
    "LabelSheet",
    "LimitError",
    "LintResult",
    "ManyResult",
    "MissingExtra",
    "OptionError",
    "PowerResult",
    "PreviewResult",
    "ProposedRules",
    "RankResult",
    "ReviewQueue",
    "ReviewResult",
    "RunList",
    "RunResult",
    "ScoredRuns",
    "StorageError",
    "Summary",
    "ThresholdSet",
    "TriageResult",
    "__version__",
    "add_review",
    "assert_extraction",
    "calibrate",
    "compare",
    "compare_many",
    "consensus",
    "diff",
    "evaluate",
    "explain",
    "find_slices",
    "improve",
    "infer",
    "label",
    "lint",
    "open_run",
    "plugins",
    "power",
    "preview_rules",
    "rank",
    "rescore",
    "review",
    "review_queue",
    "rules_from",
    "runs",
    "score",
    "score_many",
    "thresholds",
    "triage",
    "undo_review",
]

__version__: str
_MODULES: Final = {
    "assert_extraction": "fieldmark.api.assertions",
    "Calibration": "fieldmark.api.calibrate",
    "calibrate": "fieldmark.api.calibrate",
    "CaseResult": "fieldmark.wire.case_result",
    "FieldResult": "fieldmark.wire.case_result",
    "compare": "fieldmark.api.compare",
    "ManyResult": "fieldmark.api.compare_many",
    "compare_many": "fieldmark.api.compare_many",
    "ConsensusResult": "fieldmark.api.consensus",
    "consensus": "fieldmark.api.consensus",
    "diff": "fieldmark.api.diff",
    "DiffResult": "fieldmark.api.diff",
    "EvalResult": "fieldmark.run.result",
    "evaluate": "fieldmark.api.evaluate",
    "explain": "fieldmark.api.explain",
    "ExplainResult": "fieldmark.api.explain",
    "find_slices": "fieldmark.api.slices",
    "FindSlicesResult": "fieldmark.api.slices",
    "improve": "fieldmark.api.improve",
    "ImproveResult": "fieldmark.api.improve",
    "infer": "fieldmark.api.infer",
    "label": "fieldmark.api.label",
    "LabelSheet": "fieldmark.api.label",
    "lint": "fieldmark.api.lint",
    "LintResult": "fieldmark.api.lint",
    "ProposedRules": "fieldmark.api.infer",
    "plugins": "fieldmark.api.plugins",
    "power": "fieldmark.api.power",
    "PowerResult": "fieldmark.api.power",
    "PreviewResult": "fieldmark.api.preview",
    "preview_rules": "fieldmark.api.preview",
    "rank": "fieldmark.api.rank",
    "RankResult": "fieldmark.api.rank",
    "rescore": "fieldmark.api.rescore",
    "add_review": "fieldmark.api.review",
    "review": "fieldmark.api.review",
    "ReviewResult": "fieldmark.api.review",
    "undo_review": "fieldmark.api.review",
    "review_queue": "fieldmark.api.review",
    "ReviewQueue": "fieldmark.api.review",
    "rules_from": "fieldmark.api.infer",
    "RunResult": "fieldmark.run.result",
    "RunList": "fieldmark.api.runs",
    "open_run": "fieldmark.api.runs",
    "runs": "fieldmark.api.runs",
    "score": "fieldmark.api.score",
    "ScoredRuns": "fieldmark.api.score_many",
    "score_many": "fieldmark.api.score_many",
    "thresholds": "fieldmark.api.triage",
    "triage": "fieldmark.api.triage",
    "TriageResult": "fieldmark.api.triage",
    "ThresholdSet": "fieldmark.api.triage",
    "Inputs": "fieldmark.data.inputs",
    "ConfigError": "fieldmark.errors",
    "DataError": "fieldmark.errors",
    "FieldmarkError": "fieldmark.errors",
    "LimitError": "fieldmark.errors",
    "MissingExtra": "fieldmark.errors",
    "OptionError": "fieldmark.errors",
    "StorageError": "fieldmark.errors",
    "Summary": "fieldmark.metrics.summary",
    "MISSING": "fieldmark.model.json",
}
"""The module of each public name, imported on first use."""


def __getattr__(name: str) -> object:
    import importlib

    if name == "__version__":
        return importlib.import_module("fieldmark.version").VERSION
    if name not in _MODULES:
        raise AttributeError(f"module 'fieldmark' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """This package, whose public functions are not replaced by subpackages of the same name.

    Importing the subpackage `fieldmark.compare` would otherwise replace the function `compare`.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
