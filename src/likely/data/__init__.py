"""Data sets, tables and their schemas: read from files, bundled, made, or fetched."""

from likely.data.bundled import breast_cancer, diabetes, digits, iris, linnerud, wine
from likely.data.classes import (
    disc,
    inseparable,
    mixture,
    moons,
    rings,
    separable,
    spirals,
)
from likely.data.curves import (
    correlated,
    counts,
    curve,
    heteroscedastic,
    linear,
    polynomial,
)
from likely.data.dataset import Dataset
from likely.data.dependence import biased, couples, drift
from likely.data.download import data_folder
from likely.data.errors import DownloadError, TableError
from likely.data.frames import to_arrow
from likely.data.idx import read_idx
from likely.data.registry import load, names
from likely.data.remote import cifar10, fashion_mnist, mnist, tinyshakespeare
from likely.data.schema import Column, Schema
from likely.data.series import signals
from likely.data.table_file import TableFile, open_table, read_table

__all__ = [
    "Column",
    "Dataset",
    "DownloadError",
    "Schema",
    "TableError",
    "TableFile",
    "biased",
    "breast_cancer",
    "cifar10",
    "correlated",
    "counts",
    "couples",
    "curve",
    "data_folder",
    "diabetes",
    "digits",
    "disc",
    "drift",
    "fashion_mnist",
    "heteroscedastic",
    "inseparable",
    "iris",
    "linear",
    "linnerud",
    "load",
    "mixture",
    "mnist",
    "moons",
    "names",
    "open_table",
    "polynomial",
    "read_idx",
    "read_table",
    "rings",
    "separable",
    "signals",
    "spirals",
    "tinyshakespeare",
    "to_arrow",
    "wine",
]
