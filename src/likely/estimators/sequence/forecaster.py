r"""Forecasts of a series: the distribution of each of the next steps, from a window of the past.

With $x$ the last `window` values and $x_T$ the last of them, step h ahead is

$$y_{T+h} \mid x \sim N\big(x_T + b_h + \sum_j a_{hj}\,(x_j - x_T) + f_h(x),\; σ_h^2\big):$$

a linear map with a ridge penalty, and a network f of what the line leaves over. All steps are
predicted at once (directly), so that no error is fed back. The end of the series is held out:
it decides the penalty, whether the line sees the level $x_T$ itself (a series that returns to its
mean) or only differences (one that wanders off), when the training of the network ends and
whether it is used at all; and its errors are $σ_h$. Then the line is fitted once more to the
whole series.
"""

from os import PathLike
from typing import Any, NamedTuple, no_type_check

import numpy as np
from scipy.stats import norm, t as student_t
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.estimators.sequence.network import ARCHITECTURES
from likely.estimators.sequence.sequences import SequenceRegressor
from likely.families import Normal, Predictive, Product
from likely.files import save

MAX_HORIZON, MAX_WINDOW = 12, 24
"""The steps ahead, and the values looked at, where the settings leave that open."""
HELD_OUT = 0.2
"""The share of the windows, the last ones, that are held out."""
PENALTIES = 10.0 ** np.arange(-6, 2)
"""Strengths of the ridge penalty, in units of the number of windows."""

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How fast the variance may grow with the step, as a power of it."""
SHAPE_COUNT = 10.0
"""How many windows the power counts as."""
MIN_COUNT = 3.0
"""How many windows determine a scale at least, since all steps do together."""


class Forecaster(BaseEstimator):
    """A normal distribution for each of the next steps of a series, all steps at once.

    Args:
        horizon: how many steps ahead are learned; "auto" is 12, or a quarter of a short series.
        window: how many past values the forecast looks at, at least one season where there are
            seasons; "auto" is 24, or half of a short series.
        architecture: of the network beside the line: "gru", "lstm", "rnn", "transformer", or
            "linear" for none.
        size: of the state of the network.
        n_layers: the number of its layers.
        n_heads: of the attention of a transformer.
        dropout: the probability to drop a value in training.
        n_members: networks that are averaged.
        random_state: seed of first weights and batches.
        verbose: whether to show a progress bar.

    Attributes:
        horizon_: how many steps ahead there are.
        window_: how many past values the forecast looks at.
        scale_: (horizon, d) σ of each step ahead and channel.
        uses_level_: whether the line sees the level of the series.
        penalty_: the strength of the ridge penalty, in units of the number of windows.
        network_: the `SequenceRegressor` of what the line leaves over; None where it did not
            help on the held-out end of the series.

    Examples:
        >>> t = np.arange(120)
        >>> model = lk.Forecaster(4, window=12, size=8, n_members=1).fit(np.sin(t / 3))
        >>> model.predict().shape
        (4,)
    """

    horizon: Any
    window: Any
    architecture: str
    n_members: int
    line_: "Line"

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        horizon: Any = "auto",
        *,
        window: Any = "auto",
        architecture="gru",
        size=32,
        n_layers=1,
        n_heads=4,
        dropout=0.0,
        n_members=3,
        random_state=0,
        verbose=False,
    ):
        store(self, locals())

    def fit(self, series: Any, y: Any = None) -> "Forecaster":
        """Learn from one series, or from several of one kind and unit.

        Args:
            series: (t,) or (t, d) values at equal steps of time, or a list of such series.
            y: is not used.
        """
        one_of("architecture", self.architecture, (*ARCHITECTURES, "linear"))
        given, self.several_, self.flat_ = _series(series)
        self._settle(min(map(len, given)))
        shape = self.window_, self.horizon_
        everything = [Windows.of(one, *shape) for one in given]
        parts = [one.split() for one in everything]
        learn, held = (Windows.joined(part) for part in zip(*parts, strict=True))
        joined = Windows.joined(everything)
        self.uses_level_, self.penalty_ = _chosen(learn, held)
        settings = self.uses_level_, self.penalty_
        line = Line.of(learn, *settings)
        network = self._network(learn, held, line)
        means = line(held) + (0.0 if network is None else _beside(network, held))
        own = line(learn) + (0.0 if network is None else _beside(network, learn))
        self.scale_ = _scales(held.ahead - means, learn.ahead - own, given)
        self.network_ = network
        beside = 0.0 if network is None else _beside(network, joined)
        self.line_ = Line.of(joined._replace(ahead=joined.ahead - beside), *settings)
        self.past_ = [one[-self.window_ :] for one in given]
        return self

    def predict_dist(self, horizon: int | None = None, series: Any = None) -> Any:
        """The distribution of each of the next steps; a list of them for several series.

        Args:
            horizon: how many steps; all that were learned where None.
            series: another series that goes on; that of the fit where None.
        """
        h = self._steps(horizon)
        pasts, several = self._pasts(series)
        windows = Windows.last(pasts, self.horizon_)
        means = self.line_(windows)
        if self.network_ is not None:
            means = means + _beside(self.network_, windows)
        found = [self._distribution(mean[:h]) for mean in means]
        return found if several else found[0]

    def predict(self, horizon: int | None = None, series: Any = None) -> Any:
        """The mean of each of the next steps; see `predict_dist`."""
        found = self.predict_dist(horizon, series)
        return [f.mean for f in found] if isinstance(found, list) else found.mean

    def predict_interval(
        self, horizon: int | None = None, coverage: float = 0.9, series: Any = None
    ) -> Any:
        """Lower and upper ends of the central interval of each step; see `predict_dist`.

        Args:
            horizon: how many steps; all that were learned where None.
            coverage: the probability that the interval of a step holds its value.
            series: another series that goes on; that of the fit where None.
        """
        found = self.predict_dist(horizon, series)
        if isinstance(found, list):
            return [each.interval(coverage) for each in found]
        return found.interval(coverage)

    def nll(self, future: Any, series: Any = None) -> float:
        """The mean of −log p over the steps that came, in nats.

        Args:
            future: (h,) or (h, d) the values after the series, a list for several series.
            series: the series before; that of the fit where None.
        """
        found = self.predict_dist(None, series)
        several = isinstance(found, list)
        pairs = zip(found, future, strict=True) if several else [(found, future)]
        logs = []
        for each, values in pairs:
            y = np.asarray(values, np.float64)
            h = self._steps(len(y))
            logs.append(Predictive(each.family, each.eta[:h]).log_prob(y))
        return float(-np.concatenate(logs).mean())

    def save(self, path: str | PathLike) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path)

    # Parts -----------------------------------------------------------------------------

    def _settle(self, length: int) -> None:
        """Set `horizon_` and `window_` for series of at least this length."""
        auto = isinstance(self.horizon, str) and self.horizon == "auto"
        h = max(1, min(MAX_HORIZON, length // 4)) if auto else self.horizon
        self.horizon_ = at_least("horizon", h, 1, whole=True)
        auto = isinstance(self.window, str) and self.window == "auto"
        w = max(1, min(MAX_WINDOW, (length - self.horizon_) // 2))
        self.window_ = at_least("window", w if auto else self.window, 1, whole=True)
        least = self.horizon_ + self.window_ + 1
        if length < least:
            raise InputError(
                f"a series has {length} values; a horizon of {self.horizon_} and a window of "
                f"{self.window_} need at least {least}: give a smaller horizon or window."
            )

    def _steps(self, horizon: int | None) -> int:
        check_is_fitted(self)
        if horizon is None:
            return self.horizon_
        h = at_least("horizon", horizon, 1, whole=True)
        if h > self.horizon_:
            raise InputError(
                f"horizon is {h} and the fit learned {self.horizon_} steps ahead; fit with "
                f"Forecaster(horizon={h})."
            )
        return h

    def _pasts(self, series: Any) -> tuple[list[np.ndarray], bool]:
        """The last window of each series, and whether there are several."""
        if series is None:
            return self.past_, self.several_
        given, several, _ = _series(series)
        d = self.scale_.shape[1]
        for one in given:
            if one.shape[1] != d or len(one) < self.window_:
                raise InputError(
                    f"a series has shape {one.shape}; the fit had {d} channels and looks at "
                    f"{self.window_} values: give at least as many."
                )
        return [one[-self.window_ :] for one in given], several

    def _distribution(self, mean: np.ndarray) -> Predictive:
        eta = np.stack([mean, np.log(self.scale_[: len(mean)])], 2)
        if self.flat_:
            return Predictive(Normal(), eta[:, 0])
        family = Product(*[Normal()] * mean.shape[1])
        return Predictive(family, eta.reshape(len(mean), -1))

    def _regressor(self) -> SequenceRegressor:
        names = ("architecture", "size", "n_layers", "n_heads", "dropout")
        names += ("n_members", "random_state", "verbose")
        settings = {name: getattr(self, name) for name in names}
        return SequenceRegressor(
            **settings, learning_rate_init=2e-3, batch_size=64, clip_norm=1.0
        )

    def _network(self, learn: "Windows", held: "Windows", line: "Line") -> Any:
        """A network of what the line leaves over, or None where it does not help."""
        if self.architecture == "linear" or self.n_members == 0:
            return None
        left, other = learn.ahead - line(learn), held.ahead - line(held)
        network = self._regressor().fit(
            learn.inputs, _columns(left), X_val=held.inputs, y_val=_columns(other)
        )
        gained = _loss(other - _beside(network, held)) < _loss(other)
        return network if gained else None


class Windows(NamedTuple):
    """Pieces of series: what was, and what came next."""

    past: np.ndarray
    """(n, window, d)."""
    ahead: np.ndarray
    """(n, horizon, d)."""

    @classmethod
    def of(cls, series: np.ndarray, window: int, horizon: int) -> "Windows":
        """All windows of a series (t, d)."""
        slide = np.lib.stride_tricks.sliding_window_view(series, window + horizon, 0)
        pieces = np.moveaxis(slide, -1, 1)
        return cls(pieces[:, :window], pieces[:, window:])

    @classmethod
    def last(cls, pasts: list[np.ndarray], horizon: int) -> "Windows":
        """The windows at the ends of series; what comes next is not known."""
        past = np.stack(pasts)
        return cls(past, np.full((len(past), horizon, past.shape[2]), np.nan))

    @classmethod
    def joined(cls, parts: Any) -> "Windows":
        """The windows of several series."""
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def split(self) -> tuple["Windows", "Windows"]:
        """Those to learn from, and the last ones, which do not overlap what is ahead of them."""
        n, horizon = len(self.past), self.ahead.shape[1]
        held = max(1, round(HELD_OUT * n))
        gap = min(horizon - 1, (n - held) // 2)
        learn = slice(0, n - held - gap)
        return (
            Windows(self.past[learn], self.ahead[learn]),
            Windows(self.past[n - held :], self.ahead[n - held :]),
        )

    @property
    def level(self) -> np.ndarray:
        """(n, 1, d) the last value."""
        return self.past[:, -1:]

    @property
    def inputs(self) -> np.ndarray:
        """(n, window, 2d) what the network sees: values, and their distance to the last."""
        return np.concatenate([self.past, self.past - self.level], 2)


class Line(NamedTuple):
    """The linear part of a forecast."""

    center: np.ndarray
    slopes: np.ndarray
    offset: np.ndarray
    uses_level: bool

    @classmethod
    def of(cls, windows: Windows, uses_level: bool, penalty: float) -> "Line":
        """Ridge regression of what is ahead, relative to the last value."""
        return cls.path(windows, uses_level, [penalty])[0]

    @classmethod
    def path(cls, windows: Windows, uses_level: bool, penalties: Any) -> list["Line"]:
        """The lines for several strengths of the penalty, from one decomposition."""
        A = _features(windows, uses_level)
        Y = (windows.ahead - windows.level).reshape(len(A), -1)
        center, offset = A.mean(0), Y.mean(0)
        spread = np.maximum(A.std(0), 1e-12 * (1 + np.abs(center)))
        U, s, Vt = np.linalg.svd((A - center) / spread, full_matrices=False)
        projected, lines = U.T @ (Y - offset), []
        for penalty in penalties:
            shrunk = s / (s**2 + penalty * len(A))
            slopes = (Vt.T * shrunk) @ projected / spread[:, None]
            lines.append(cls(center, slopes, offset, uses_level))
        return lines

    def __call__(self, windows: Windows) -> np.ndarray:
        """(n, horizon, d) the means."""
        A = _features(windows, self.uses_level)
        ahead = (A - self.center) @ self.slopes + self.offset
        return ahead.reshape(windows.ahead.shape) + windows.level


def _features(windows: Windows, uses_level: bool) -> np.ndarray:
    n = len(windows.past)
    before = (windows.past[:, :-1] - windows.level).reshape(n, -1)
    if not uses_level:
        return before
    return np.concatenate([before, windows.level.reshape(n, -1)], 1)


def _chosen(learn: Windows, held: Windows) -> tuple[bool, float]:
    """Whether the line sees the level, and its penalty: the lowest held-out error."""
    tried = []
    for uses_level in (False, True):
        lines = Line.path(learn, uses_level, PENALTIES)
        for line, penalty in zip(lines, PENALTIES, strict=True):
            tried.append((_loss(held.ahead - line(held)), uses_level, float(penalty)))
    return min(tried)[1:]


def _loss(errors: np.ndarray) -> float:
    """The mean over steps and channels of the log of the mean squared error."""
    return float(np.log((errors**2).mean(0) + np.finfo(float).tiny).mean())


def _scales(held: np.ndarray, own: np.ndarray, series: list[np.ndarray]) -> np.ndarray:
    """(horizon, d) σ of each step: of held-out errors, never below those of the fit.

    Errors of windows that overlap are correlated, 1 − k/h at a distance of k steps where the
    series wanders: h steps ahead, squares of n of them count as 3n/(2h + 1). Few determine a
    scale poorly: it is mixed with a power of h that all steps determine together, as if that
    were `SHAPE_COUNT` windows, and enlarged as the 90 % interval of Student's t is.
    """
    steps = np.arange(1, held.shape[1] + 1)
    count = np.maximum(3 * len(held) / (2 * steps + 1), MIN_COUNT)
    width = student_t.ppf(0.95, count - 1) / norm.ppf(0.95)
    square, share = (held**2).mean(0), (count / (count + SHAPE_COUNT))[:, None]
    square = share * square + (1 - share) * _power(square, steps)
    square = np.maximum(square, (own**2).mean(0))
    size = np.abs(np.concatenate(series)).max(0)
    return np.sqrt(square) * width[:, None] + 1e-9 * (1e-3 + size)


def _power(square: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(horizon, d) the most likely a·h^b, b from 0 (returns at once) to 1 (wanders off)."""
    tried = []
    for b in POWERS:
        shape = steps[:, None] ** b
        level = (square / shape).mean(0)
        loss = np.log(level + np.finfo(float).tiny) + np.log(shape).mean()
        tried.append((loss.mean(), level * shape))
    return min(tried, key=lambda each: each[0])[1]


def _beside(network: SequenceRegressor, windows: Windows) -> np.ndarray:
    """(n, horizon, d) what the network adds to the line."""
    return network.predict(windows.inputs).reshape(windows.ahead.shape)


def _columns(ahead: np.ndarray) -> np.ndarray:
    """(n, horizon · d), or (n,) where that is 1."""
    flat = ahead.reshape(len(ahead), -1)
    return flat[:, 0] if flat.shape[1] == 1 else flat


def _series(given: Any) -> tuple[list[np.ndarray], bool, bool]:
    """Each series as (t, d); whether there are several, and whether they have no channels."""
    several = (
        isinstance(given, list | tuple) and len(given) > 0 and np.ndim(given[0]) > 0
    )
    found = []
    for i, one in enumerate(given if several else [given]):
        try:
            values = np.asarray(one, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"series {i} does not hold numbers only.") from error
        if values.ndim not in (1, 2) or not values.size:
            raise InputError(
                f"series {i} has shape {values.shape}; give values (t,) or (t, d)."
            )
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            raise InputError(
                f"series {i} has {values[tuple(bad[0])]} at step {bad[0][0]}; fill the gap, or "
                "give the parts before and after it as two series."
            )
        found.append(values)
    if len({values.shape[1:] for values in found}) > 1:
        raise InputError("the series have different channels; give each the same.")
    flat = found[0].ndim == 1
    return [v[:, None] if flat else v for v in found], several, flat
