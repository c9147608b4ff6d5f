"""Numerics without statistics: precision, padding, keys, linear algebra, caching."""

from likely.core.cache import enable_cache
from likely.core.checks import InputError
from likely.core.forks import ForkError
from likely.core.host import tune_host
from likely.core.linalg import lstsq, weighted_gram
from likely.core.numerics import bounded, unbounded
from likely.core.precision import float64, number, precision_of, to_numpy
from likely.core.random import key_of
from likely.core.rows import fill_absent, pad, pad_rows, size_class, weighted_mean

__all__ = [
    "ForkError",
    "InputError",
    "bounded",
    "enable_cache",
    "fill_absent",
    "float64",
    "key_of",
    "lstsq",
    "number",
    "pad",
    "pad_rows",
    "precision_of",
    "size_class",
    "to_numpy",
    "tune_host",
    "unbounded",
    "weighted_gram",
    "weighted_mean",
]

enable_cache()
