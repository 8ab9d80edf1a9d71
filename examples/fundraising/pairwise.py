"""Compare many models pairwise, and report which differ significantly.

    python examples/fundraising/pairwise.py GOLD PREDICTIONS [MODEL ...]

PREDICTIONS is a directory with one file of predictions per model. Each model is scored once; then
every pair is compared case by case. With many pairs, some differ by chance alone, so p-values are
adjusted by Holm's method.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import combinations
from pathlib import Path

import fieldmark as fm
from fieldmark.metrics.significance import ALPHA, holm


def score_models(gold: Path, predictions: list[Path], runs: Path) -> dict[str, fm.RunResult]:
    """Return one run per model, best first."""
    found = {
        path.name.partition(".jsonl")[0]: fm.score(
            gold, path, match="exact_text", out=runs / path.name.partition(".jsonl")[0]
        )
        for path in predictions
    }
    return dict(sorted(found.items(), key=lambda item: -(item[1].mean_score or 0.0)))


def adjusted_p_values(runs: dict[str, fm.RunResult]) -> dict[tuple[str, str], float]:
    """Return the Holm-adjusted p-value for every pair of models."""
    p_values = {
        (better, worse): fm.diff(runs[worse], runs[better]).metrics.headline["mean_score"].p
        for better, worse in combinations(runs, 2)
    }
    return holm(p_values)


def main() -> None:
    """Print every model, with the lower-ranked models that do not differ significantly."""
    gold, directory, *names = sys.argv[1:]
    files = sorted(Path(directory).glob("*.jsonl*"))
    selected = [path for path in files if not names or path.name.partition(".jsonl")[0] in names]
    with tempfile.TemporaryDirectory() as output:
        runs = score_models(Path(gold), selected, Path(output))
        p_values = adjusted_p_values(runs)
    significant = sum(p <= ALPHA for p in p_values.values())
    print(f"{len(runs)} models, {len(p_values)} pairs, {significant} significantly different\n")
    for rank, (model, run) in enumerate(runs.items(), 1):
        similar = [other for (one, other), p in p_values.items() if one == model and p > ALPHA]
        note = f"  similar to {', '.join(similar)}" if similar else ""
        print(f"{rank:>2}  {run.mean_score:.3f}  {model}{note}")


if __name__ == "__main__":
    main()
