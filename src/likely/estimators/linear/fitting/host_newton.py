r"""Newton's method for lines under a log or logit link, in NumPy: nothing is compiled.

The mean of $l(η_i, y_i) + \tfrac{α}{2} \lVert w \rVert^2$ with $η = Xw + b + o$ and a loss l that
is convex in η (two classes, Poisson, gamma, negative binomial with known r) is minimised by
full steps, halved where they fail. A dispersion that the line depends on takes a step of its
own after each: the two are almost orthogonal. Of many rows some are fitted first, and their
Hessian is the metric in which the others are (`sampled_newton`). Where anything is unusual
(dependent columns, means that overflow, too many steps) there is no answer, and the compiled
solver takes over.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, gammaln, psi, zeta

from likely.core.threads import threads_for
from likely.families.negative_binomial_slopes import MAX_LOG
from likely.models import Linear, Offset
from likely.typing import GRADIENT, Batch, Solution, Status, Trace

MIN_PIVOT = 1e-5
"""The least pivot of the scaled Hessian; its square is about the inverse condition number."""
MAX_HALVINGS, BLOCK_ROWS = 20, 2048
ROUNDING = 1e-7
"""Where √(gᵀH⁻¹g) may stop falling: its square is half of the error in nats."""
MAX_ENTRIES = 2e10
"""Rows times the square of the columns up to which a step costs less than compiling."""


class Losses(NamedTuple):
    """A loss of η and y with a parameter u, and its derivatives in η."""

    value: Callable[..., np.ndarray]
    slopes: Callable[..., tuple[np.ndarray, np.ndarray]]


def _poisson_slopes(eta, _u, y) -> tuple[np.ndarray, np.ndarray]:
    mean = np.exp(eta)
    return mean - y, mean


def _class_loss(eta, _u, y) -> np.ndarray:
    """log(1 + e^η) − yη, with all digits where it is small."""
    return np.log1p(np.exp(-np.abs(eta))) + (np.maximum(eta, 0.0) - y * eta)


def _class_slopes(eta, _u, y) -> tuple[np.ndarray, np.ndarray]:
    p = expit(eta)
    return p - y, p * (1 - p)


def _gamma_slopes(eta, _u, y) -> tuple[np.ndarray, np.ndarray]:
    ratio = y * np.exp(-eta)
    return 1 - ratio, ratio


POISSON = Losses(
    lambda eta, _u, y: np.exp(eta) - y * eta + gammaln(y + 1), _poisson_slopes
)
GAMMA = Losses(lambda eta, _u, y: y * np.exp(-eta) + eta, _gamma_slopes)
CLASSES = Losses(_class_loss, _class_slopes)


class Rows(NamedTuple):
    """Present rows, with the offset of each, and which columns hold anything."""

    X: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]
    w: Float[np.ndarray, " n"]
    offset: Float[np.ndarray, " n"] | float
    kept: np.ndarray
    is_pair: bool

    @classmethod
    def of(cls, batch: Batch) -> "Rows | None":
        """The rows of a batch, or None where a step would cost more than compiling."""
        pair = isinstance(batch.x, tuple)
        X, offset = batch.x if pair else (batch.x, 0.0)
        X, y, w = np.asarray(X), np.asarray(batch.y, float), np.asarray(batch.w)
        if y.ndim > 1 or len(w) * X.shape[1] ** 2 > MAX_ENTRIES:
            return None
        here = w > 0
        if not here.any():
            return None
        if not here.all():
            X, y, w = X[here], y[here], w[here]
            offset = np.asarray(offset)[here] if pair else offset
        return cls(X, y, w, offset, np.asarray((X != 0).any(0)), pair)

    @property
    def mean(self) -> float:
        """The mean of y."""
        return float(self.w @ self.y / self.w.sum())


class Line(NamedTuple):
    """The minimum: coefficients, intercept last, and how it was reached."""

    b: Float[np.ndarray, " p"]
    eta: Float[np.ndarray, " n"]
    u: float
    loss: float
    gradient: float
    steps: int


class Point(NamedTuple):
    """Coefficients, η, u and the mean loss with its penalty."""

    b: np.ndarray
    eta: np.ndarray
    u: float
    f: float


class LineProblem(NamedTuple):
    """The mean loss as a function of the coefficients, an intercept last."""

    X: np.ndarray
    P: np.ndarray
    """The strength of the penalty on each coefficient."""
    y: np.ndarray
    share: np.ndarray
    offset: Any
    losses: Losses
    intercept: bool

    @classmethod
    def of(
        cls, rows: Rows, losses: Losses, alpha: float, intercept: bool
    ) -> "LineProblem":
        """The problem of rows, without columns that hold nothing."""
        X = rows.X if rows.kept.all() else rows.X[:, rows.kept]
        P = np.full(X.shape[1] + intercept, alpha)
        P[len(P) - intercept :] = 0.0
        share = rows.w / rows.w.sum()
        return cls(X, P, rows.y, share, rows.offset, losses, intercept)

    def start(self, eta: float) -> np.ndarray:
        """The coefficients of the null model, whose η is given."""
        b = np.zeros(len(self.P))
        b[len(b) - self.intercept :] = eta - np.mean(self.offset)
        return b

    def thinned(self, stride: int) -> "LineProblem":
        """The problem of every so many rows."""
        offset = self.offset[::stride] if np.ndim(self.offset) else self.offset
        X, y, share = (a[::stride] for a in (self.X, self.y, self.share))
        return self._replace(X=X, y=y, share=share / share.sum(), offset=offset)

    def line(self, b: np.ndarray) -> np.ndarray:
        """Xw + b without the offset."""
        return self.X @ b[:-1] + b[-1] if self.intercept else self.X @ b

    def at(self, b: np.ndarray, u: float, eta: np.ndarray | None = None) -> Point:
        """The point of these coefficients; its loss is infinite where means overflow."""
        if eta is None:
            eta = np.asarray(self.line(b) + self.offset)
        if not np.abs(eta).max() < MAX_LOG:
            return Point(b, eta, u, np.inf)
        loss = self.share @ self.losses.value(eta, u, self.y)
        return Point(b, eta, u, float(loss + 0.5 * self.P @ b**2))

    def gradient(self, at: Point, first: np.ndarray) -> np.ndarray:
        """The gradient, from the slopes of the losses."""
        r = self.share * first
        g = r @ self.X
        return (np.append(g, r.sum()) if self.intercept else g) + self.P * at.b

    def factor(self, second: np.ndarray) -> "Factor | None":
        """The Hessian, factorised."""
        H = weighted_gram(self.X, self.share * second, self.intercept)
        return Factor.of(H + np.diag(self.P))

    def direction(self, at: Point) -> tuple[np.ndarray, np.ndarray] | None:
        """The gradient and the Newton step."""
        first, second = self.losses.slopes(at.eta, at.u, self.y)
        g, factor = self.gradient(at, first), self.factor(second)
        return None if factor is None else (g, -factor.solve(g))

    def moved(self, at: Point, step: np.ndarray, decrease: float) -> Point | None:
        """The next point, along the step or a part of it."""
        along, size = self.line(step), 1.0
        for _ in range(MAX_HALVINGS):
            new = self.at(at.b + size * step, at.u, at.eta + size * along)
            if new.f <= at.f - 1e-4 * size * decrease + 1e-14 * abs(at.f):
                return new
            size /= 2
        return None


class Factor(NamedTuple):
    """A positive definite matrix by the factor of its unit diagonal form."""

    cholesky: tuple
    size: np.ndarray

    @classmethod
    def of(cls, H: Float[np.ndarray, "p p"]) -> "Factor | None":
        """The factor, or None where H is too close to a singular matrix."""
        with np.errstate(invalid="ignore"):
            size = np.sqrt(np.diagonal(H))
        if not (np.isfinite(size).all() and (size > 0).all()):
            return None
        try:
            cholesky = cho_factor(H / np.outer(size, size))
        except np.linalg.LinAlgError:
            return None
        return (
            cls(cholesky, size) if np.diagonal(cholesky[0]).min() >= MIN_PIVOT else None
        )

    def solve(self, g: np.ndarray) -> np.ndarray:
        """H⁻¹g."""
        return cho_solve(self.cholesky, g / self.size) / self.size


def fitted_line(
    rows: Rows,
    losses: Losses,
    *,
    alpha: float,
    intercept: bool,
    rules: Any,
    turn: Callable[[np.ndarray, float], float] | None = None,
) -> Line | None:
    """The line of least mean loss under a log link, or None: the compiled solver is needed.

    Args:
        rows: present rows.
        losses: the loss.
        alpha: the strength of the penalty, for each unit of weight.
        intercept: whether there is a b.
        rules: the step limit and the tolerance of the compiled solver.
        turn: the next u from η and u, where it is learned too; it starts at 0.
    """
    if not 0 < rows.mean < np.inf:
        return None
    problem = LineProblem.of(rows, losses, alpha, intercept)
    b = problem.start(float(np.log(rows.mean)))
    with threads_for(len(b)):
        return newton_line(problem, b, rules, turn)


def newton_line(
    problem: LineProblem,
    b: np.ndarray,
    rules: Any,
    turn: Callable | None = None,
    enough: Callable | None = None,
) -> Line | None:
    """Newton's method from b."""
    at, before = problem.at(b, 0.0), np.inf
    for steps in range(1, int(rules.max_steps) + 1):
        found = problem.direction(at) if np.isfinite(at.f) else None
        if found is None:
            return None
        g, step = found
        decrement = float(np.sqrt(max(-g @ step, 0.0)))
        if enough is not None and enough(at.eta):
            return Line(at.b, at.eta, at.u, at.f, float(np.abs(g).max()), steps)
        if decrement < float(rules.tolerance) or ROUNDING > decrement >= before:
            u = at.u if turn is None else turn(at.eta, at.u)
            if abs(u - at.u) <= 1e-10 * (1 + abs(u)):
                return Line(at.b, at.eta, u, at.f, float(np.abs(g).max()), steps)
        before, new = decrement, problem.moved(at, step, decrement**2)
        if new is None:
            return None
        at = new if turn is None else problem.at(new.b, turn(new.eta, new.u), new.eta)
    return None


def weighted_gram(
    X: Float[np.ndarray, "n d"], w: Float[np.ndarray, " n"], intercept: bool = False
) -> Float[np.ndarray, "p p"]:
    """AᵀWA for weights of at least 0, A = X or [X, 1], a block of rows after the other."""
    n, d = X.shape
    p, root = d + intercept, np.sqrt(w)[:, None]
    total, buffer = np.zeros((p, p)), np.empty((min(BLOCK_ROWS, n), p))
    for start in range(0, n, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        Z = buffer[: len(w[rows])]
        np.multiply(X[rows], root[rows], out=Z[:, :d])
        Z[:, d:] = root[rows]
        total += Z.T @ Z
    return total


def solution_of(rows: Rows, line: Line, intercept: bool, max_steps: int) -> Solution:
    """What the compiled solver would return; its model is the line without u."""
    weight = np.zeros((rows.X.shape[1], 1))
    weight[rows.kept, 0] = line.b[: int(rows.kept.sum())]
    bias = jnp.asarray(line.b[-1:]) if intercept else None
    model: Any = Linear(jnp.asarray(weight), bias)
    losses = np.full(max_steps, np.nan)
    losses[0] = line.loss
    trace = Trace(losses, np.full(max_steps, np.nan), np.full(max_steps, np.nan))
    status = Status(
        np.asarray(GRADIENT), np.asarray(line.steps), np.asarray(line.gradient)
    )
    model = Offset(model) if rows.is_pair else model
    return Solution(model, None, np.asarray(line.loss), trace, status)


def gamma_dispersion(rows: Rows, eta: np.ndarray) -> float:
    r"""log a of the largest likelihood: $\log a - ψ(a)$ is the mean of $y/μ - 1 - \log(y/μ)$."""
    log_ratio = np.log(rows.y) - eta
    goal = float(rows.w @ (np.expm1(log_ratio) - log_ratio) / rows.w.sum())
    if not 1e-9 < goal < np.inf:
        return np.inf
    a = (3 - goal + np.sqrt((goal - 3) ** 2 + 24 * goal)) / (12 * goal)
    u = float(np.log(a))
    for _ in range(50):
        a = np.exp(u)
        step = (u - psi(a) - goal) / (1 - a * zeta(2, a))
        u -= float(np.clip(step, -2.0, 2.0))
        if abs(step) < 1e-12 * (1 + abs(u)):
            return u
    return np.inf
