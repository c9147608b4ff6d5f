from .calculus.expression import (
    Expression as Expression,
    symbol as symbol,
)
from .calculus.identities import (
    IDENTITIES as IDENTITIES,
    cauchy_schwarz as cauchy_schwarz,
    verify_identities as verify_identities,
)
from .calculus.identity import Identity as Identity
from .calculus.symbolic import symbolic as symbolic
from .calculus.taylor import (
    TaylorModel as TaylorModel,
    TaylorSeries as TaylorSeries,
    chain_rule as chain_rule,
    directional_derivative as directional_derivative,
    gradient as gradient,
    jacobian as jacobian,
    taylor as taylor,
    taylor_series as taylor_series,
)
from .modes.checkpointed import Checkpointed as Checkpointed
from .modes.cost import Cost as Cost
from .modes.growth import (
    Growth as Growth,
    growth as growth,
)
from .modes.jacobians import (
    Jacobians as Jacobians,
    chain_product as chain_product,
)
from .modes.passes import (
    Forward as Forward,
    Reverse as Reverse,
)
from .modes.trace import (
    Trace as Trace,
    trace as trace,
)
from .networks.backprop import (
    Backprop as Backprop,
    Layer as Layer,
)
from .networks.depth import (
    DepthProfile as DepthProfile,
    depth_profile as depth_profile,
    multiply_adds as multiply_adds,
    parameter_count as parameter_count,
)
from .networks.through_time import (
    ThroughTime as ThroughTime,
    through_time as through_time,
)
from .numerical.checking import (
    GradientCheck as GradientCheck,
    check_gradients as check_gradients,
)
from .numerical.differences import numerical_gradient as numerical_gradient
from .numerical.step_size import (
    StepAdvice as StepAdvice,
    step_advice as step_advice,
)
from .numerical.stochastic import (
    GradientEstimates as GradientEstimates,
    gradient_estimates as gradient_estimates,
    reparameterised as reparameterised,
)
from .program.program import (
    Program as Program,
    Step as Step,
    Value as Value,
)
