"""2. Bricks of models; each is itself a model: layer(X, *, w, key, state)."""

from likely.layers.batch_norm import BatchNorm
from likely.layers.chain import Chain, Pointwise
from likely.layers.dense import Dense

__all__ = ["BatchNorm", "Chain", "Dense", "Pointwise"]
