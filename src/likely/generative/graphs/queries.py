"""Questions to a network: the distribution of some variables, given others, or set by hand."""

from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.generative.evidence import column_names, evidence_codes
from likely.generative.graphs.factors import Evidence, RowFactors, row_factors
from likely.generative.graphs.mixture_answer import MixtureAnswer
from likely.generative.graphs.nodes import Joint, spread
from likely.preprocess import TableCodec
from likely.probability import Table


def known_values(
    joint: Joint, codec: TableCodec, given: Any, do: Any, n: int | None = None
) -> tuple[Joint, np.ndarray]:
    """The network after interventions, and the codes of what is known.

    Args:
        joint: the network.
        codec: of its columns.
        given: what was observed.
        do: what is set from outside.
        n: how many rows there have to be.
    """
    seen = evidence_codes(codec, given, n)
    if do is None:
        return joint, seen
    forced = evidence_codes(codec, do, n)
    if len(seen) != len(forced):
        seen, forced = np.broadcast_arrays(seen, forced)
    both = ~np.isnan(seen) & ~np.isnan(forced)
    if both.any():
        name = joint.names[int(np.argwhere(both)[0, 1])]
        raise InputError(f"{name!r} is in given and in do; leave it in one of them.")
    is_set = ~np.isnan(forced)
    if (is_set != is_set[:1]).any():
        raise InputError("do sets different columns in different rows; ask one by one.")
    names = {joint.names[j] for j in np.flatnonzero(is_set[0])}
    return joint.after(names), np.where(np.isnan(seen), forced, seen)


def answer(
    joint: Joint, codec: TableCodec, targets: Any, given: Any, do: Any
) -> Table | MixtureAnswer:
    """The joint distribution of the targets: a table, or a mixture of normal ones."""
    targets = column_names(codec, targets)
    if not targets:
        raise InputError("targets is empty; name the columns that you ask about.")
    joint, values = known_values(joint, codec, given, do, 1)
    evidence = Evidence.of(joint, values)
    for name in targets:
        if name in evidence.names:
            raise InputError(f"{name!r} is known already; ask about another column.")
    found = row_factors(joint, evidence, targets)
    discrete = tuple(name for name in targets if name in joint.levels)
    continuous = tuple(name for name in targets if name not in joint.levels)
    groups = [g for g in found.hidden if set(g.names) & set(continuous)]
    every = dict.fromkeys((*discrete, *(name for g in groups for name in g.discrete)))
    keep = tuple(every)
    shares = found.shares(keep)[0]
    if not np.isfinite(shares).all():
        raise InputError(
            "what is given has probability 0 under the network, so nothing follows from it; "
            "leave some of it out, or fit with a prior above 0."
        )
    table = _table(codec, keep, shares, discrete) if discrete else None
    if not continuous:
        assert table is not None
        return table
    means, covariances = _stacked(found, continuous, keep, shares.shape)
    codes = tuple(codec.columns[joint.column(name)] for name in continuous)
    return MixtureAnswer(codes, shares.ravel(), means, covariances, table)


def _table(
    codec: TableCodec, keep: tuple[str, ...], shares: np.ndarray, names: tuple[str, ...]
) -> Table:
    extra = tuple(i for i, name in enumerate(keep) if name not in names)
    values = shares.sum(extra)
    levels = [codec.columns[codec.names.index(name)].levels for name in names]
    return Table(values / values.sum(), names, [list(own) for own in levels])


def _stacked(
    found: RowFactors,
    names: tuple[str, ...],
    keep: tuple[str, ...],
    shape: tuple[int, ...],
) -> tuple[np.ndarray, np.ndarray]:
    """(k, m) means and (k, m, m) covariances for all combinations of levels of `keep`."""
    m = len(names)
    means, covariances = np.zeros((*shape, m)), np.zeros((*shape, m, m))
    for group in found.hidden:
        own = [name for name in names if name in group.names]
        at, theirs = [names.index(n) for n in own], [group.names.index(n) for n in own]
        mean = spread(group.means[:1], group.discrete, keep)[0]
        covariance = spread(group.covariances[:1], group.discrete, keep)[0]
        means[..., at] = mean[..., theirs]
        part = covariance[..., theirs, :][..., theirs]
        covariances[..., np.array(at, int)[:, None], np.array(at, int)] = part
    return means.reshape(-1, m), covariances.reshape(-1, m, m)
