"""A map: vectors with labels in two dimensions, by principal components."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure


def map(  # noqa: A001
    vectors: Any,
    labels: Sequence[Any],
    *,
    groups: Sequence[Any] | None = None,
    lines: Sequence[tuple[Any, Any]] = (),
    title: str = "",
) -> Figure:
    """Draw labelled vectors in the plane of their two principal components.

    The plane is the one in which the vectors differ most; the axes say how much of their
    variance it shows.

    Args:
        vectors: (n, d) such as `WordVectors.embed(words)`.
        labels: (n,) what each is called.
        groups: (n,) of the same group get the same colour; six groups, then again.
        lines: pairs of labels to connect, such as singular and plural.
        title: the title of the figure.
    """
    points, labels = np.asarray(vectors, np.float64), [str(label) for label in labels]
    if points.ndim != 2 or not len(points) or not np.isfinite(points).all():
        raise InputError(
            f"vectors has shape {points.shape}; give finite numbers, a row for each label."
        )
    if len(labels) != len(points):
        raise InputError(f"there are {len(labels)} labels and {len(points)} vectors.")
    if groups is not None and len(groups) != len(points):
        raise InputError(f"there are {len(groups)} groups and {len(points)} vectors.")
    places, shares = _plane(points)
    names = list(dict.fromkeys(groups if groups is not None else [""]))
    number = {name: i % (len(COLOURS) - 1) for i, name in enumerate(names)}
    own = [""] * len(points) if groups is None else groups
    colours = [COLOURS[number[group]] for group in own]
    drawn, (ax,) = figure(6.0, 5.0, title)
    for a, b in lines:
        for label in (a, b):
            if str(label) not in labels:
                raise InputError(f"lines has {label!r}, which is not among the labels.")
        ends = places[[labels.index(str(a)), labels.index(str(b))]]
        ax.plot(*ends.T, color=SOFT, lw=0.8, zorder=1)
    ax.scatter(*places.T, c=colours, s=14, zorder=2)
    for label, place in zip(labels, places, strict=True):
        ax.annotate(
            label, place, xytext=(3, 3), textcoords="offset points", fontsize="small",
            color=INK, parse_math=False,
        )  # fmt: skip
    ax.set(
        xlabel=f"first component ({shares[0]:.0%})",
        ylabel=f"second component ({shares[1]:.0%})",
    )
    ax.margins(0.12)
    return drawn


def _plane(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, 2) the places in the plane of largest variance, and (2,) the shares it has."""
    centred = points - points.mean(0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    places, shares = np.zeros((len(points), 2)), np.zeros(2)
    k = min(2, len(s))
    total = (s**2).sum()
    signs = np.sign(U[np.abs(U).argmax(0), np.arange(U.shape[1])])[:k]
    places[:, :k] = U[:, :k] * s[:k] * signs
    shares[:k] = s[:k] ** 2 / total if total > 0 else 0.0
    return places, shares
