"""Automatic differentiation one can read: values forward, adjoints back, and the cost."""

from likely.autodiff.backprop import Backprop, Layer
from likely.autodiff.checking import GradientCheck, check_gradients
from likely.autodiff.checkpointed import Checkpointed
from likely.autodiff.cost import Cost
from likely.autodiff.depth import (
    DepthProfile,
    depth_profile,
    multiply_adds,
    parameter_count,
)
from likely.autodiff.expression import Expression, symbol
from likely.autodiff.growth import Growth, growth
from likely.autodiff.identities import IDENTITIES, cauchy_schwarz, verify_identities
from likely.autodiff.identity import Identity
from likely.autodiff.jacobians import Jacobians, chain_product
from likely.autodiff.numerical import numerical_gradient
from likely.autodiff.passes import Forward, Reverse
from likely.autodiff.program import Program, Step, Value
from likely.autodiff.step_size import StepAdvice, step_advice
from likely.autodiff.stochastic import (
    GradientEstimates,
    gradient_estimates,
    reparameterised,
)
from likely.autodiff.symbolic import symbolic
from likely.autodiff.taylor import (
    TaylorModel,
    TaylorSeries,
    chain_rule,
    directional_derivative,
    gradient,
    jacobian,
    taylor,
    taylor_series,
)
from likely.autodiff.through_time import ThroughTime, through_time
from likely.autodiff.trace import Trace, trace

__all__ = [
    "IDENTITIES",
    "Backprop",
    "Checkpointed",
    "Cost",
    "DepthProfile",
    "Expression",
    "Forward",
    "GradientCheck",
    "GradientEstimates",
    "Growth",
    "Identity",
    "Jacobians",
    "Layer",
    "Program",
    "Reverse",
    "Step",
    "StepAdvice",
    "TaylorModel",
    "TaylorSeries",
    "ThroughTime",
    "Trace",
    "Value",
    "cauchy_schwarz",
    "chain_product",
    "chain_rule",
    "check_gradients",
    "depth_profile",
    "directional_derivative",
    "gradient",
    "gradient_estimates",
    "growth",
    "jacobian",
    "multiply_adds",
    "numerical_gradient",
    "parameter_count",
    "reparameterised",
    "step_advice",
    "symbol",
    "symbolic",
    "taylor",
    "taylor_series",
    "through_time",
    "trace",
    "verify_identities",
]
