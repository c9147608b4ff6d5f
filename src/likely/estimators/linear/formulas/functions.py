"""Functions of formulas that learn from the rows of the fit, whose weights are repetitions.

formulaic's own take every row for one. Here the means of `center` and `scale`, the
polynomials of `poly`, the knots of `bs` and the constraints of `cr` and `cc` are those of
the rows repeated, and `C` refuses levels that the fit did not have. What is learned is in
`_state`: numbers, lists and arrays.
"""

from typing import Any

import numpy as np
import pandas as pd

from likely.core.checks import InputError
from likely.estimators.linear.formulas.syntax import ELEMENTWISE


def functions(w: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    """The functions of a formula, by name.

    Args:
        w: (n,) the weights of the rows to learn from; ones where nothing is learned.
        rows: (n,) the numbers of the rows, for sentences.
    """
    natural = _cubic_spline(w, cyclic=False)
    return {
        **{name: getattr(np, name) for name in ELEMENTWISE.split()},
        "exp10": lambda x: 10.0 ** np.asarray(x, float),
        "where": np.where,
        "clip": np.clip,
        "C": _categories(rows),
        **_scalers(w),
        "poly": _poly(w),
        "bs": _basis_spline(w),
        "cr": natural,
        "cs": natural,
        "cc": _cubic_spline(w, cyclic=True),
    }


def _categories(rows: np.ndarray) -> Any:
    """`C`, which refuses levels that the fit did not have."""
    from formulaic.transforms import C, encode_contrasts

    def categories(
        data: Any,
        contrasts: Any = None,
        *,
        levels: Any = None,
        spans_intercept: bool = True,
    ) -> Any:
        name = str(getattr(data, "name", None) or "C(...)")

        def encoder(values, reduced_rank, drop_rows, encoder_state, model_spec):
            values = pd.Series(getattr(values, "__wrapped__", values))
            known = encoder_state.get("categories") if levels is None else list(levels)
            check_levels(name, values, known, rows)
            return encode_contrasts(
                values,
                contrasts=contrasts,
                levels=levels,
                reduced_rank=reduced_rank,
                _state=encoder_state,
                _spec=model_spec,
            )

        found: Any = C(data, contrasts, levels=levels, spans_intercept=spans_intercept)
        found.__formulaic_metadata__.encoder = encoder
        return found

    return categories


def _scalers(w: np.ndarray) -> dict[str, Any]:
    """`center`, `scale` and `standardize` of weighted rows."""
    from formulaic.utils.stateful_transforms import stateful_transform

    @stateful_transform
    def center(data: Any, _state: Any = None) -> Any:
        return _scaled(data, w, _state, centre=True, rescale=False, ddof=1)

    @stateful_transform
    def scale(
        data: Any,
        center: Any = True,
        scale: Any = True,
        ddof: Any = 1,
        _state: Any = None,
    ) -> Any:
        return _scaled(data, w, _state, centre=center, rescale=scale, ddof=ddof)

    @stateful_transform
    def standardize(
        x: Any,
        center: Any = True,
        rescale: Any = True,
        ddof: Any = 0,
        _state: Any = None,
    ) -> Any:
        return _scaled(x, w, _state, centre=center, rescale=rescale, ddof=ddof)

    return {"center": center, "scale": scale, "standardize": standardize}


def _poly(w: np.ndarray) -> Any:
    """`poly`, whose polynomials are orthogonal over weighted rows."""
    from formulaic.materializers.types import FactorValues
    from formulaic.utils.stateful_transforms import stateful_transform

    @stateful_transform
    def poly(x: Any, degree: int = 1, raw: bool = False, _state: Any = None) -> Any:
        names = tuple(str(i) for i in range(1, degree + 1))
        return FactorValues(_polynomials(x, w, _state, degree, raw), column_names=names)

    return poly


def _basis_spline(w: np.ndarray) -> Any:
    """`bs`, whose knots are quantiles of weighted rows."""
    from formulaic.transforms import basis_spline
    from formulaic.utils.stateful_transforms import stateful_transform

    @stateful_transform
    def bs(
        x: Any,
        df: Any = None,
        knots: Any = None,
        degree: int = 3,
        *,
        include_intercept: bool = False,
        lower_bound: Any = None,
        upper_bound: Any = None,
        extrapolation: str = "extend",
        _state: Any = None,
    ) -> Any:
        inner = 0 if df is None else df - degree - bool(include_intercept)
        if inner < 0:
            raise InputError(f"bs has df={df}; give more than its degree ({degree}).")
        if "knots" not in _state and knots is None and inner:
            values = np.asarray(x, float)
            low = values.min() if lower_bound is None else lower_bound
            high = values.max() if upper_bound is None else upper_bound
            here = (values >= low) & (values <= high)
            levels = np.linspace(0, 1, inner + 2)[1:-1]
            knots = _quantiles(values[here], w[here], levels).tolist()
        return basis_spline(
            x,
            knots=knots,
            degree=degree,
            include_intercept=include_intercept,
            lower_bound=lower_bound,
            upper_bound=upper_bound,
            extrapolation=extrapolation,
            _state=_state,
        )

    return bs


def _cubic_spline(w: np.ndarray, *, cyclic: bool) -> Any:
    """`cr` or `cc`, whose curves are centred over weighted rows where that is asked for."""
    from formulaic.transforms.cubic_spline import cubic_spline
    from formulaic.utils.stateful_transforms import stateful_transform

    @stateful_transform
    def cubic(
        x: Any,
        df: Any = None,
        knots: Any = None,
        *,
        lower_bound: Any = None,
        upper_bound: Any = None,
        constraints: Any = None,
        extrapolation: str = "extend",
        _state: Any = None,
    ) -> Any:
        bounds = {"lower_bound": lower_bound, "upper_bound": upper_bound}
        how: Any = {"cyclic": cyclic, "extrapolation": extrapolation, **bounds}
        learning = "knots" not in _state
        found = cubic_spline(
            x, df, knots, constraints=constraints, _state=_state, **how
        )
        if learning and constraints == "center":
            free = cubic_spline(x, _state=_state | {"constraints": None}, **how)
            columns = np.column_stack(list(free.values()))
            _state["constraints"] = (w @ columns / w.sum())[None]
            found = cubic_spline(x, _state=_state, **how)
        return found

    return cubic


def check_levels(name: str, values: Any, known: Any, rows: np.ndarray) -> None:
    """Refuse missing values, and levels that are not among the known ones (None: all are).

    Args:
        name: of the column.
        values: (n,) its values.
        known: the levels of the fit.
        rows: (n,) the numbers of the rows.
    """
    values = pd.Series(values)
    missing = values.isna().to_numpy()
    if missing.any():
        raise InputError(
            f"column {name!r} has no value in row {rows[np.argmax(missing)]}; "
            "remove the row, or give it weight 0 in fit."
        )
    if known is None:
        return
    new = ~values.isin(list(known)).to_numpy()
    if new.any():
        row = int(np.argmax(new))
        raise InputError(
            f"column {name!r} has the level {_plain(values.iloc[row])!r} in row {rows[row]}, "
            f"which the fit did not have; its levels are {_listed(known)}. Remove such "
            "rows, or fit with rows of this level."
        )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _listed(levels: Any, most: int = 20) -> str:
    """The levels, the first ones of many."""
    names = [repr(_plain(level)) for level in levels]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _scaled(
    x: Any, w: np.ndarray, state: dict, *, centre: Any, rescale: Any, ddof: Any
) -> np.ndarray:
    """x less its mean over its standard deviation; either may be a number, or False."""
    x = np.asarray(x, float)
    if "center" not in state:
        mean = w @ x / w.sum()
        state["center"] = mean if centre is True else 0.0 if centre is False else centre
    x = x - state["center"]
    if "scale" not in state:
        spread = np.sqrt(w @ x**2 / (w.sum() - ddof))
        state["scale"] = (
            spread if rescale is True else 1.0 if rescale is False else rescale
        )
    return x / state["scale"]


def _polynomials(
    x: Any, w: np.ndarray, state: dict, degree: int, raw: bool
) -> np.ndarray:
    r"""(n, degree) polynomials that are orthonormal over the rows of the fit, or powers.

    $P_{k+1} = (x - α_k) P_k - (ν_k / ν_{k-1}) P_{k-1}$ with $ν_k = \sum_i w_i P_k(x_i)^2$.
    """
    x = np.asarray(x, float)
    if raw:
        return x[:, None] ** np.arange(1, degree + 1)
    learning = "norms2" not in state
    alpha, norms = state.setdefault("alpha", []), state.setdefault("norms2", [])
    P = [np.ones_like(x)]
    for k in range(degree + 1):
        if learning:
            square = w * P[k] ** 2
            norms.append(float(square.sum()))
            alpha.append(float(square @ x / norms[k]))
        lower = norms[k] / norms[k - 1] * P[k - 1] if k else 0.0
        P.append((x - alpha[k]) * P[k] - lower)
    return np.column_stack([P[k] / np.sqrt(norms[k]) for k in range(1, degree + 1)])


def _quantiles(x: np.ndarray, w: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """`numpy.quantile` of each value repeated as often as its weight says."""
    order = np.argsort(x)
    x, reached = x[order], np.cumsum(w[order])
    place = levels * max(reached[-1] - 1.0, 0.0)
    below, above = (
        x[np.minimum(np.searchsorted(reached, at, side="right"), len(x) - 1)]
        for at in (np.floor(place), np.ceil(place))
    )
    return below + (place - np.floor(place)) * (above - below)
