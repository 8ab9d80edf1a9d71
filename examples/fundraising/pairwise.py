"""Compare many models pairwise: which of them can be told apart, and which cannot.

    python examples/fundraising/pairwise.py GOLD PREDICTIONS [MODEL ...]

PREDICTIONS is a folder with one file of candidates a model. Every model is scored once; then every
pair is compared case by case. With many pairs some differ by chance alone, so chances are put right
for their number by Holm's method before a difference is believed.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import combinations
from pathlib import Path

import fieldmark as fm
from fieldmark.metrics.significance import ALPHA, holm


def scored(gold: Path, predictions: list[Path], runs: Path) -> dict[str, fm.RunResult]:
    """One run for each model, best first."""
    found = {
        path.name.partition(".jsonl")[0]: fm.score(
            gold, path, match="exact_text", out=runs / path.name.partition(".jsonl")[0]
        )
        for path in predictions
    }
    return dict(sorted(found.items(), key=lambda item: -(item[1].mean_score or 0.0)))


def told_apart(runs: dict[str, fm.RunResult]) -> dict[tuple[str, str], float]:
    """For every pair of models, the chance of so large a difference between equals."""
    chances = {
        (better, worse): fm.diff(runs[worse], runs[better]).figures.headline["mean_score"].p
        for better, worse in combinations(runs, 2)
    }
    return holm(chances)


def main() -> None:
    """Print every model, and those below it that it cannot be told apart from."""
    gold, folder, *names = sys.argv[1:]
    files = sorted(Path(folder).glob("*.jsonl*"))
    wanted = [path for path in files if not names or path.name.partition(".jsonl")[0] in names]
    with tempfile.TemporaryDirectory() as kept:
        runs = scored(Path(gold), wanted, Path(kept))
        chances = told_apart(runs)
    apart = sum(chance <= ALPHA for chance in chances.values())
    print(f"{len(runs)} models, {len(chances)} pairs, {apart} of them told apart\n")
    for rank, (model, run) in enumerate(runs.items(), 1):
        alike = [other for (one, other), p in chances.items() if one == model and p > ALPHA]
        note = f"  like {', '.join(alike)}" if alike else ""
        print(f"{rank:>2}  {run.mean_score:.3f}  {model}{note}")


if __name__ == "__main__":
    main()
