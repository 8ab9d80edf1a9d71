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
    from fieldmark.analyses.assertions import assert_extraction
    from fieldmark.analyses.calibrate import Calibration, LabelSheet, calibrate, label
    from fieldmark.analyses.compare import ManyResult, compare, compare_many
    from fieldmark.analyses.consensus import ConsensusResult, consensus
    from fieldmark.analyses.diff import DiffResult, diff
    from fieldmark.analyses.doctor import plugins
    from fieldmark.analyses.evaluate import evaluate
    from fieldmark.analyses.improve import FindSlicesResult, ImproveResult, find_slices, improve
    from fieldmark.analyses.infer import ProposedRules, infer, rules_from
    from fieldmark.analyses.lint import LintResult, lint
    from fieldmark.analyses.power import PowerResult, power
    from fieldmark.analyses.rank import RankResult, ScoredRuns, rank, score_many
    from fieldmark.analyses.rescore import PreviewResult, preview_rules, rescore
    from fieldmark.analyses.retry_errors import retry_errors
    from fieldmark.analyses.review import (
        ReviewQueue,
        ReviewResult,
        add_review,
        review,
        review_queue,
        undo_review,
    )
    from fieldmark.analyses.run_result import EvalResult, RunResult
    from fieldmark.analyses.runs import RunList, open_run, runs
    from fieldmark.analyses.score import score
    from fieldmark.analyses.show import ExplainResult, explain
    from fieldmark.analyses.triage import ThresholdSet, TriageResult, thresholds, triage
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
    from fieldmark.runs.case_result import CaseResult, FieldResult

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
    "retry_errors",
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
    "assert_extraction": "fieldmark.analyses.assertions",
    "Calibration": "fieldmark.analyses.calibrate",
    "calibrate": "fieldmark.analyses.calibrate",
    "CaseResult": "fieldmark.runs.case_result",
    "FieldResult": "fieldmark.runs.case_result",
    "compare": "fieldmark.analyses.compare",
    "ManyResult": "fieldmark.analyses.compare",
    "compare_many": "fieldmark.analyses.compare",
    "ConsensusResult": "fieldmark.analyses.consensus",
    "consensus": "fieldmark.analyses.consensus",
    "diff": "fieldmark.analyses.diff",
    "DiffResult": "fieldmark.analyses.diff",
    "EvalResult": "fieldmark.analyses.run_result",
    "evaluate": "fieldmark.analyses.evaluate",
    "explain": "fieldmark.analyses.show",
    "ExplainResult": "fieldmark.analyses.show",
    "find_slices": "fieldmark.analyses.improve",
    "FindSlicesResult": "fieldmark.analyses.improve",
    "improve": "fieldmark.analyses.improve",
    "ImproveResult": "fieldmark.analyses.improve",
    "infer": "fieldmark.analyses.infer",
    "label": "fieldmark.analyses.calibrate",
    "LabelSheet": "fieldmark.analyses.calibrate",
    "lint": "fieldmark.analyses.lint",
    "LintResult": "fieldmark.analyses.lint",
    "ProposedRules": "fieldmark.analyses.infer",
    "plugins": "fieldmark.analyses.doctor",
    "power": "fieldmark.analyses.power",
    "PowerResult": "fieldmark.analyses.power",
    "PreviewResult": "fieldmark.analyses.rescore",
    "preview_rules": "fieldmark.analyses.rescore",
    "rank": "fieldmark.analyses.rank",
    "RankResult": "fieldmark.analyses.rank",
    "rescore": "fieldmark.analyses.rescore",
    "retry_errors": "fieldmark.analyses.retry_errors",
    "add_review": "fieldmark.analyses.review",
    "review": "fieldmark.analyses.review",
    "ReviewResult": "fieldmark.analyses.review",
    "undo_review": "fieldmark.analyses.review",
    "review_queue": "fieldmark.analyses.review",
    "ReviewQueue": "fieldmark.analyses.review",
    "rules_from": "fieldmark.analyses.infer",
    "RunResult": "fieldmark.analyses.run_result",
    "RunList": "fieldmark.analyses.runs",
    "open_run": "fieldmark.analyses.runs",
    "runs": "fieldmark.analyses.runs",
    "score": "fieldmark.analyses.score",
    "ScoredRuns": "fieldmark.analyses.rank",
    "score_many": "fieldmark.analyses.rank",
    "thresholds": "fieldmark.analyses.triage",
    "triage": "fieldmark.analyses.triage",
    "TriageResult": "fieldmark.analyses.triage",
    "ThresholdSet": "fieldmark.analyses.triage",
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
