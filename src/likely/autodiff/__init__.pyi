from .backprop import (
    Backprop as Backprop,
    Layer as Layer,
)
from .checking import (
    GradientCheck as GradientCheck,
    check_gradients as check_gradients,
)
from .checkpointed import Checkpointed as Checkpointed
from .cost import Cost as Cost
from .depth import (
    DepthProfile as DepthProfile,
    depth_profile as depth_profile,
    multiply_adds as multiply_adds,
    parameter_count as parameter_count,
)
from .expression import (
    Expression as Expression,
    symbol as symbol,
)
from .growth import (
    Growth as Growth,
    growth as growth,
)
from .identities import (
    IDENTITIES as IDENTITIES,
    cauchy_schwarz as cauchy_schwarz,
    verify_identities as verify_identities,
)
from .identity import Identity as Identity
from .jacobians import (
    Jacobians as Jacobians,
    chain_product as chain_product,
)
from .numerical import numerical_gradient as numerical_gradient
from .passes import (
    Forward as Forward,
    Reverse as Reverse,
)
from .program import (
    Program as Program,
    Step as Step,
    Value as Value,
)
from .step_size import (
    StepAdvice as StepAdvice,
    step_advice as step_advice,
)
from .stochastic import (
    GradientEstimates as GradientEstimates,
    gradient_estimates as gradient_estimates,
    reparameterised as reparameterised,
)
from .symbolic import symbolic as symbolic
from .taylor import (
    TaylorModel as TaylorModel,
    TaylorSeries as TaylorSeries,
    chain_rule as chain_rule,
    directional_derivative as directional_derivative,
    gradient as gradient,
    jacobian as jacobian,
    taylor as taylor,
    taylor_series as taylor_series,
)
from .through_time import (
    ThroughTime as ThroughTime,
    through_time as through_time,
)
from .trace import (
    Trace as Trace,
    trace as trace,
)
