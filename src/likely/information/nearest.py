r"""Entropy and information of samples, from distances to the k nearest neighbours.

A neighbourhood that holds k of n rows has probability about k/n; its size then says how large
the density is. Distances are the largest of those of single columns. With the digamma function ψ:

- entropy (Kozachenko and Leonenko): $H ≈ ψ(n) - ψ(k) + d\,\overline{\log 2r}$, r the distance
  to the k-th neighbour;
- information of two samples (Kraskov, Stögbauer and Grassberger):
  $I ≈ ψ(n) + ψ(k) - \overline{ψ(n_x + 1) + ψ(n_y + 1)}$ with the numbers of rows nearer than r
  in x alone and in y alone; given z: $ψ(k) - \overline{ψ(n_{xz}+1) + ψ(n_{yz}+1) - ψ(n_z+1)}$;
- information of a sample and classes (Ross):
  $I ≈ ψ(n) + \overline{ψ(k_c)} - \overline{ψ(n_c)} - \overline{ψ(m)}$, with r among the n_c rows
  of the same class, and m rows within it.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree
from scipy.special import digamma

from likely.core.checks import InputError, check_finite
from likely.information.estimate import Estimate

JITTER = 1e-10
"""What is added to columns of unit spread, so that no two rows are tied."""
Sample = Float[np.ndarray, "n d"]


def sample_entropy(X: Any, *, k: int = 3) -> Estimate:
    r"""The entropy of the density that rows were drawn from, in nats.

    Args:
        X: (n,) or (n, d) rows drawn from a density: no two are equal.
        k: the number of neighbours: few for little bias, more for little spread.

    Returns:
        The estimate, with the standard error over rows.

    Examples:
        >>> X = np.random.default_rng(0).random((500, 1))  # uniform: the entropy is 0
        >>> bool(abs(lk.information.sample_entropy(X).value) < 0.2)
        True
    """
    X = _rows("X", X, k)
    n, d = X.shape
    r = _distances(X, k)
    if not r.min() > 0:
        row = int(np.argmin(r))
        raise InputError(
            f"row {row} has at least {k} equal rows; a sample of a density has no ties. Count "
            "values and take the entropy of the table, or add noise as wide as the rounding."
        )
    terms = digamma(n) - digamma(k) + d * np.log(2 * r)
    return _mean(terms, f"{k} nearest neighbours, Kozachenko-Leonenko")


def sample_mutual_information(
    X: Any, Y: Any, *, given: Any = None, k: int = 3, random_state: int = 0
) -> Estimate:
    """The mutual information of two samples with densities, in nats, given a third or not.

    Columns are brought to unit spread, and a noise of 1e-10 of that breaks ties. The
    estimate is not below zero.

    Args:
        X: (n,) or (n, d) rows.
        Y: (n,) or (n, e) the rows beside them.
        given: (n,) or (n, f) rows of what is known; None for nothing.
        k: the number of neighbours: few for little bias, more for little spread.
        random_state: the seed of the noise.

    Returns:
        The estimate, with the standard error over rows. `bias_check` says how far it is off
        where the truth is known.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(500, 1))
        >>> y = x + 0.1 * rng.normal(size=(500, 1))
        >>> lk.information.sample_mutual_information(x, y).value > 1
        True
    """
    rng = np.random.default_rng(random_state)
    X, Y = (_spread(_rows(name, A, k), rng) for name, A in (("X", X), ("Y", Y)))
    parts = [X, Y]
    if given is not None:
        parts.append(_spread(_rows("given", given, k), rng))
    if len({len(part) for part in parts}) > 1:
        raise InputError(
            f"there are {[len(part) for part in parts]} rows; give as many of each."
        )
    r = _distances(np.hstack(parts), k)
    if given is None:
        terms = digamma(len(X)) + digamma(k) - _log_count(X, r) - _log_count(Y, r)
    else:
        Z = parts[2]
        both = _log_count(np.hstack([X, Z]), r) + _log_count(np.hstack([Y, Z]), r)
        terms = digamma(k) - both + _log_count(Z, r)
    return _mean(terms, f"{k} nearest neighbours, Kraskov-Stögbauer-Grassberger", 0.0)


def sample_class_information(
    X: Any, labels: Any, *, k: int = 3, random_state: int = 0
) -> Estimate:
    """The mutual information of a sample with a density and classes, in nats.

    Classes with one row say nothing and are left out.

    Args:
        X: (n,) or (n, d) rows.
        labels: (n,) the class of each row.
        k: the number of neighbours within a class; less in classes with fewer rows.
        random_state: the seed of the noise that breaks ties.
    """
    X = _spread(_rows("X", X, k), np.random.default_rng(random_state))
    codes = np.unique(np.asarray(labels), return_inverse=True)[1].ravel()
    if len(codes) != len(X):
        raise InputError(f"X has {len(X)} rows and there are {len(codes)} labels.")
    sizes = np.bincount(codes)[codes]
    used = sizes > 1
    if not used.any():
        raise InputError("every class has one row; give classes with several rows.")
    X, codes, sizes = X[used], codes[used], sizes[used]
    r, near = np.empty(len(X)), np.minimum(k, sizes - 1)
    for code in np.unique(codes):
        own = codes == code
        r[own] = _distances(X[own], int(near[own][0]))
    terms = digamma(len(X)) + digamma(near) - digamma(sizes)
    terms -= _log_count(X, r)
    return _mean(terms, f"{k} nearest neighbours, Ross", 0.0)


def _rows(name: str, X: Any, k: int) -> Sample:
    """Rows as float64 with two axes, finite and enough of them."""
    X = np.asarray(X, np.float64)
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2:
        raise InputError(f"{name} has shape {X.shape}; give rows, shape (n, d).")
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise InputError(f"k is {k}; give a whole number of at least 1.")
    if len(X) <= k:
        raise InputError(
            f"{name} has {len(X)} rows, too few for k = {k} neighbours; give at least {k + 1}."
        )
    check_finite(name, X)
    return X


def _spread(X: Sample, rng: np.random.Generator) -> Sample:
    """Columns of mean zero and unit spread (constant ones of none), with a little noise."""
    X = X - X.mean(0)
    scale = X.std(0)
    X = X / np.where(scale > 0, scale, 1.0)
    return X + JITTER * rng.standard_normal(X.shape)


def _distances(X: Sample, k: int) -> np.ndarray:
    """The distance of each row to its k-th nearest neighbour, in the largest column."""
    return np.asarray(KDTree(X).query(X, k + 1, p=np.inf)[0])[:, k]


def _log_count(X: Sample, r: np.ndarray) -> np.ndarray:
    """ψ(number of rows nearer than r to each, with itself).

    The neighbour at r itself does not count, whatever its distance is rounded to.
    """
    r = r - np.maximum(1e-10 * r, 4 * np.finfo(float).eps * np.abs(X).max())
    if X.shape[1] == 1:
        x = X[:, 0]
        ordered = np.sort(x)
        above = np.searchsorted(ordered, x + r, side="right")
        count = above - np.searchsorted(ordered, x - r, side="left")
    else:
        count = KDTree(X).query_ball_point(X, r, p=np.inf, return_length=True)
    return digamma(np.maximum(count, 1))


def _mean(terms: np.ndarray, method: str, least: float = -np.inf) -> Estimate:
    """The mean over rows, not below the least value, and its standard error."""
    error = float(terms.std(ddof=1)) / np.sqrt(len(terms)) if len(terms) > 1 else np.nan
    return Estimate(max(float(terms.mean()), least), float(error), method)
