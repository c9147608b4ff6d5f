"""Networks as estimators: the core that any architecture can be put into."""

from likely.estimators.networks.core import AbstractNetwork
from likely.estimators.networks.learner import Architecture, NetworkLearner

__all__ = ["AbstractNetwork", "Architecture", "NetworkLearner"]
