"""Measure how well `match: semantic` agrees with labelled pairs of strings.

Each line of a file is an object with `expected`, `candidate`, `label` (whether they mean the same)
and `category`. The token_set_ratio of RapidFuzz stands beside it, with the threshold that has the
highest accuracy on the pairs for tuning:

    python scripts/measure_meaning.py [--model DIRECTORY] [--no-guards] [--mistakes] [FILE ...]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from rapidfuzz import fuzz, utils

from fieldmark.compare.providers import Lexical
from fieldmark.compare.semantic import Semantic
from fieldmark.judges.similarity_providers import Model2Vec

Pair: TypeAlias = Mapping[str, str | bool]
Matches: TypeAlias = Callable[[str, str], bool]

DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "meaning"
TUNING = DATA / "tune.jsonl"


def main() -> None:
    """Print a table for each file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, default=sorted(DATA.glob("*.jsonl")))
    parser.add_argument("--model", default="", help="use model2vec with this model directory")
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--no-guards", action="store_true", help="disable all guards")
    parser.add_argument("--mistakes", action="store_true", help="list the pairs that are wrong")
    options = parser.parse_args()
    provider = Model2Vec(model=options.model) if options.model else Lexical()
    comparator = Semantic(
        provider=provider, threshold=options.threshold, guards=not options.no_guards
    )

    def matches(expected: str, candidate: str) -> bool:
        return comparator.compare(expected, candidate).matched

    limit = best_threshold(read_pairs(TUNING))
    for file in options.files:
        pairs = read_pairs(file)
        print(f"{file.name}: {len(pairs)} pairs")
        print(f"{'category':<24}{provider.name:>24}{f'token_set_ratio >= {limit}':>32}")
        print(f"{'':<24}{'acc.  prec.  recall':>24}{'acc.  prec.  recall':>32}")
        for category in (*sorted({str(pair["category"]) for pair in pairs}), "all"):
            chosen = [pair for pair in pairs if category in {"all", pair["category"]}]
            ours = "  ".join(rates(chosen, matches))
            theirs = "  ".join(rates(chosen, lambda one, other: ratio(one, other) >= limit))
            print(f"{category:<24}{ours:>24}{theirs:>32}")
        for pair in pairs if options.mistakes else ():
            if matches(str(pair["expected"]), str(pair["candidate"])) != pair["label"]:
                print(
                    f"{pair['category']}: {pair['label']}: {pair['expected']} | {pair['candidate']}"
                )


def read_pairs(file: Path) -> list[Pair]:
    """Return the labelled pairs of a file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def ratio(expected: str, candidate: str) -> float:
    """Return the similarity that RapidFuzz recommends for words in any order."""
    return fuzz.token_set_ratio(expected, candidate, processor=utils.default_process)


def best_threshold(pairs: Sequence[Pair]) -> int:
    """Return the threshold of `ratio` with the highest accuracy."""
    graded = [(ratio(str(p["expected"]), str(p["candidate"])), p["label"]) for p in pairs]
    return max(range(101), key=lambda limit: sum((s >= limit) == label for s, label in graded))


def rates(pairs: Iterable[Pair], matches: Matches) -> list[str]:
    """Return accuracy, precision and recall."""
    verdicts = [(matches(str(p["expected"]), str(p["candidate"])), bool(p["label"])) for p in pairs]
    right = sum(match == label for match, label in verdicts)
    both = sum(match and label for match, label in verdicts)
    matched = sum(match for match, _ in verdicts)
    same = sum(label for _, label in verdicts)
    shares = ((right, len(verdicts)), (both, matched), (both, same))
    return [f"{part / whole:.3f}" if whole else "    -" for part, whole in shares]


if __name__ == "__main__":
    main()
