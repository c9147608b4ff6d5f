from .derivative_free.block_coordinate import BlockCoordinate as BlockCoordinate
from .derivative_free.genetic import Genetic as Genetic
from .first_order.alternating import (
    Alternating as Alternating,
    Players as Players,
)
from .first_order.averaging import (
    ExponentialAverage as ExponentialAverage,
    UniformAverage as UniformAverage,
)
from .first_order.clipping import (
    ClipByNorm as ClipByNorm,
    ClipByValue as ClipByValue,
)
from .first_order.continuation import Continuation as Continuation
from .first_order.minibatches import Minibatches as Minibatches
from .first_order.noise import Noise as Noise
from .first_order.rules import (
    AdaGrad as AdaGrad,
    Adam as Adam,
    AdamW as AdamW,
    GradientDescent as GradientDescent,
    Momentum as Momentum,
    Nesterov as Nesterov,
    RMSprop as RMSprop,
    descends as descends,
    steepest as steepest,
)
from .first_order.sampling import (
    Curriculum as Curriculum,
    RowWeights as RowWeights,
)
from .first_order.schedules import (
    Constant as Constant,
    Cosine as Cosine,
    ExponentialDecay as ExponentialDecay,
    InverseTime as InverseTime,
    ReduceOnPlateau as ReduceOnPlateau,
    StepDecay as StepDecay,
    WarmUp as WarmUp,
)
from .function import (
    Function as Function,
    minimize as minimize,
)
from .least_squares.curve import (
    Curve as Curve,
    CurveFit as CurveFit,
    SumOfSquares as SumOfSquares,
    fit_curve as fit_curve,
)
from .least_squares.exact import LeastSquares as LeastSquares
from .least_squares.levenberg_marquardt import LevenbergMarquardt as LevenbergMarquardt
from .least_squares.ridge import (
    ridge as ridge,
    ridge_folds as ridge_folds,
    ridge_lines as ridge_lines,
)
from .penalised.coordinate import CoordinateDescent as CoordinateDescent
from .penalised.lasso_path import (
    LassoPath as LassoPath,
    lasso_path as lasso_path,
)
from .penalised.proximal import ProximalGradient as ProximalGradient
from .second_order.bfgs import BFGS as BFGS
from .second_order.lagrangian import (
    LagrangeNewton as LagrangeNewton,
    multipliers as multipliers,
)
from .second_order.lbfgs import LBFGS as LBFGS
from .second_order.line_search import (
    bracket as bracket,
    golden_section as golden_section,
)
from .second_order.newton import Newton as Newton
from .second_order.staged import Staged as Staged
from .second_order.stationary import (
    StationaryPoint as StationaryPoint,
    StepForecast as StepForecast,
    classify as classify,
    step_forecast as step_forecast,
)
from .second_order.steepest_descent import SteepestDescent as SteepestDescent
from .second_order.whitened import Whitened as Whitened
from .stopping import (
    GradientNorm as GradientNorm,
    ParameterChange as ParameterChange,
    RelativeLoss as RelativeLoss,
    Validation as Validation,
)
