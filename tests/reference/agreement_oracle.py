"""Agreement of a judge with labels, computed slowly from the definitions."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist


def kappa(table):
    """Cohen's kappa of a table of two rows and columns, rows by judge and columns by people."""
    whole = sum(map(sum, table))
    observed = sum(table[i][i] for i in range(2)) / whole
    rows = [sum(table[i]) / whole for i in range(2)]
    columns = [sum(table[i][j] for i in range(2)) / whole for j in range(2)]
    chance = sum(rows[i] * columns[i] for i in range(2))
    return (observed - chance) / (1 - chance)


def kappa_interval(table):
    """The delta method: numerical derivatives of kappa and the covariance of a multinomial."""
    whole = sum(map(sum, table))
    places = [(i, j) for i in range(2) for j in range(2)]
    shares = [table[i][j] / whole for i, j in places]
    step = 1e-6
    slopes = []
    for place in range(4):
        moved = [
            kappa_of_shares([each + sign * step * (k == place) for k, each in enumerate(shares)])
            for sign in (1, -1)
        ]
        slopes.append((moved[0] - moved[1]) / (2 * step))
    variance = sum(
        slopes[a] * slopes[b] * (shares[a] * ((a == b) - shares[b]))
        for a in range(4)
        for b in range(4)
    )
    margin = NormalDist().inv_cdf(0.975) * sqrt(max(0.0, variance) / whole)
    value = kappa(table)
    return max(-1.0, value - margin), min(1.0, value + margin)


def kappa_of_shares(shares):
    """Kappa as a function of four shares, without assuming that they add up to 1."""
    a, b, c, d = shares
    chance = (a + b) * (a + c) + (c + d) * (b + d)
    return (a + d - chance) / (1 - chance)


def auc(judged):
    """The share of pairs of a match and another label that are in the right order."""
    matches = [similarity for similarity, right in judged if right]
    others = [similarity for similarity, right in judged if not right]
    if not matches or not others:
        return None
    order = [(one > other) + 0.5 * (one == other) for one in matches for other in others]
    return sum(order) / len(order)


def confusion(judged, threshold):
    """Counts of accepted matches, accepted others, rejected matches and rejected others."""
    cells = [[0, 0], [0, 0]]
    for similarity, right in judged:
        cells[similarity < threshold][not right] += 1
    return cells[0][0], cells[0][1], cells[1][0], cells[1][1]


def best_recall(judged, precision):
    """The highest recall of any threshold with at least this precision, or None."""
    matches = sum(right for _, right in judged)
    found = [
        both / matches
        for threshold in {similarity for similarity, _ in judged}
        for both, extra, _, _ in [confusion(judged, threshold)]
        if both + extra and both / (both + extra) >= precision - 1e-12
    ]
    return max(found, default=None)
