r"""The structure of largest score, by hill climbing over graphs without cycles.

From a graph the single change (an arrow added, removed or turned) that raises the score most is
made, until none does. As such a search ends at the nearest top, it goes on for some steps along
the least bad change, never to a graph where it has just been (a *tabu* list), and starts again
from disturbed copies of the best graph.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Score = Callable[[int, frozenset[int]], float]
MIN_GAIN = 1e-6
"""Nats by which a graph has to be better to be the new best one."""
DIGITS = 6
"""Gains are compared to so many decimals: turned arrows of equivalent graphs are ties, which the
order of columns decides and not rounding."""


class SearchLimits(NamedTuple):
    """Which graphs are looked at, and for how long."""

    allowed: np.ndarray
    """(d, d) whether the arrow i → j may be there."""
    required: np.ndarray
    """(d, d) whether the arrow i → j has to be there."""
    max_parents: int
    n_tabu: int
    n_restarts: int
    max_steps: int = 10_000


class Found(NamedTuple):
    """The best graph of a search."""

    arrows: np.ndarray
    """(d, d) whether there is an arrow i → j."""
    score: float
    path: list[float]
    """The score after each step of the first climb."""


def hill_climb(score: Score, limits: SearchLimits, rng: np.random.Generator) -> Found:
    """The best graph that was found, from the graph of required arrows on."""
    best = _climb(score, limits, limits.required.copy())
    if len(limits.allowed) == 1:
        return best
    for _ in range(limits.n_restarts):
        other = _climb(score, limits, _disturbed(best.arrows, limits, rng))
        if other.score > best.score + MIN_GAIN:
            best = other._replace(path=best.path)
    return best


def has_cycle(arrows: np.ndarray) -> bool:
    """Whether a path of arrows leads back to where it began."""
    return bool(np.diagonal(paths(arrows)).any())


def paths(arrows: np.ndarray) -> np.ndarray:
    """(d, d) whether a path of arrows leads from i to j."""
    reach = arrows.copy()
    while True:
        more = reach | ((reach.astype(np.float32) @ reach.astype(np.float32)) > 0)
        if (more == reach).all():
            return reach
        reach = more


class _Gains:
    """The change of the score by every single change of a graph."""

    def __init__(self, score: Score, limits: SearchLimits, arrows: np.ndarray):
        d = len(arrows)
        self.score, self.limits, self.arrows = score, limits, arrows
        self.own = np.zeros(d)
        self.add, self.cut = np.full((d, d), -np.inf), np.full((d, d), -np.inf)
        for j in range(d):
            self.renew(j)

    def renew(self, j: int) -> None:
        """Compute again what depends on the parents of j."""
        parents = frozenset(np.flatnonzero(self.arrows[:, j]).tolist())
        self.own[j] = self.score(j, parents)
        self.add[:, j] = self.cut[:, j] = -np.inf
        for i in np.flatnonzero(self.limits.allowed[:, j] | self.arrows[:, j]):
            if self.arrows[i, j]:
                self.cut[i, j] = self.score(j, parents - {int(i)}) - self.own[j]
            else:  # also of a graph with a cycle or many parents: a turn may need it
                self.add[i, j] = self.score(j, parents | {int(i)}) - self.own[j]

    def moves(self) -> list[tuple[float, str, int, int]]:
        """All changes that keep the graph without cycles, best first."""
        A, limits = self.arrows, self.limits
        reach = paths(A)
        room = A.sum(0) < limits.max_parents
        d = len(A)
        off = ~np.eye(d, dtype=bool)
        can_add = off & ~A & ~A.T & limits.allowed & ~reach.T & room[None]
        can_cut = A & ~limits.required
        can_turn = can_cut & limits.allowed.T & room[:, None]
        turn = np.where(can_turn, self.cut + self.add.T, -np.inf)
        found = [
            (float(gain[i, j]), kind, int(i), int(j))
            for kind, gain, can in (
                ("add", self.add, can_add),
                ("cut", self.cut, can_cut),
                ("turn", turn, can_turn),
            )
            for i, j in zip(*np.nonzero(can & np.isfinite(gain)), strict=True)
        ]
        return sorted(found, key=lambda move: (-round(move[0], DIGITS), move[1:]))

    def after(self, kind: str, i: int, j: int) -> np.ndarray | None:
        """The graph after a change; None if it had a cycle."""
        A = self.arrows.copy()
        A[i, j] = kind == "add"
        if kind == "turn":
            if paths(A)[i, j]:
                return None
            A[j, i] = True
        return A

    def make(self, arrows: np.ndarray, kind: str, i: int, j: int) -> None:
        """Go to the graph after a change."""
        self.arrows = arrows
        for k in (i, j) if kind == "turn" else (j,):
            self.renew(k)


def _climb(score: Score, limits: SearchLimits, arrows: np.ndarray) -> Found:
    gains = _Gains(score, limits, arrows)
    best = Found(arrows, float(gains.own.sum()), [float(gains.own.sum())])
    recent: deque[bytes] = deque([arrows.tobytes()], maxlen=max(limits.n_tabu, 1))
    waited = 0
    for _ in range(limits.max_steps):
        step = _next(gains, recent, uphill=limits.n_tabu == 0)
        if step is None:
            break
        gains.make(*step)
        recent.append(gains.arrows.tobytes())
        total = float(gains.own.sum())
        best.path.append(total)
        if total > best.score + MIN_GAIN:
            best, waited = Found(gains.arrows, total, best.path), 0
        else:
            waited += 1
            if waited > limits.n_tabu:
                break
    return best


def _next(gains: _Gains, recent: deque[bytes], *, uphill: bool):
    """The best change to a graph that is not on the list, or None."""
    for gain, kind, i, j in gains.moves():
        if uphill and gain <= MIN_GAIN:
            return None
        arrows = gains.after(kind, i, j)
        if arrows is not None and arrows.tobytes() not in recent:
            return arrows, kind, i, j
    return None


def _disturbed(
    arrows: np.ndarray, limits: SearchLimits, rng: np.random.Generator
) -> np.ndarray:
    """A graph after some random changes."""
    A = arrows.copy()
    d = len(A)
    for _ in range(max(3, d // 2)):
        i, j = rng.choice(d, 2, replace=False)
        if A[i, j]:
            A[i, j] = bool(limits.required[i, j])
        elif limits.allowed[i, j] and A[:, j].sum() < limits.max_parents:
            new = A.copy()
            new[i, j], new[j, i] = True, False
            if not has_cycle(new) and not (limits.required & ~new).any():
                A = new
    return A
