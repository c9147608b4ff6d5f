"""3b. How objectives are minimised. Settings only: solvers know no probability."""

from likely.solvers.derivative_free.block_coordinate import BlockCoordinate
from likely.solvers.derivative_free.genetic import Genetic
from likely.solvers.first_order.averaging import ExponentialAverage, UniformAverage
from likely.solvers.first_order.clipping import ClipByNorm, ClipByValue
from likely.solvers.first_order.minibatches import Minibatches
from likely.solvers.first_order.noise import Noise
from likely.solvers.first_order.rules import (
    AdaGrad,
    Adam,
    AdamW,
    GradientDescent,
    Momentum,
    Nesterov,
    RMSprop,
    descends,
    steepest,
)
from likely.solvers.first_order.schedules import (
    Constant,
    Cosine,
    ExponentialDecay,
    InverseTime,
    ReduceOnPlateau,
    StepDecay,
    WarmUp,
)
from likely.solvers.function import Function, minimize
from likely.solvers.least_squares.curve import Curve, CurveFit, SumOfSquares, fit_curve
from likely.solvers.least_squares.exact import LeastSquares
from likely.solvers.least_squares.levenberg_marquardt import LevenbergMarquardt
from likely.solvers.least_squares.ridge import ridge, ridge_folds
from likely.solvers.penalised.coordinate import CoordinateDescent
from likely.solvers.penalised.lasso_path import LassoPath, lasso_path
from likely.solvers.penalised.proximal import ProximalGradient
from likely.solvers.second_order.bfgs import BFGS
from likely.solvers.second_order.lagrangian import LagrangeNewton, multipliers
from likely.solvers.second_order.lbfgs import LBFGS
from likely.solvers.second_order.line_search import bracket, golden_section
from likely.solvers.second_order.newton import Newton
from likely.solvers.second_order.stationary import (
    StationaryPoint,
    StepForecast,
    classify,
    step_forecast,
)
from likely.solvers.second_order.steepest_descent import SteepestDescent
from likely.solvers.second_order.whitened import Whitened
from likely.solvers.stopping import (
    GradientNorm,
    ParameterChange,
    RelativeLoss,
    Validation,
)

__all__ = [
    "AdaGrad",
    "Adam",
    "AdamW",
    "BFGS",
    "BlockCoordinate",
    "ClipByNorm",
    "ClipByValue",
    "Constant",
    "CoordinateDescent",
    "Cosine",
    "Curve",
    "CurveFit",
    "ExponentialAverage",
    "ExponentialDecay",
    "Function",
    "Genetic",
    "GradientDescent",
    "GradientNorm",
    "InverseTime",
    "LBFGS",
    "LagrangeNewton",
    "LassoPath",
    "LeastSquares",
    "LevenbergMarquardt",
    "Minibatches",
    "Momentum",
    "Nesterov",
    "Newton",
    "Noise",
    "ParameterChange",
    "ProximalGradient",
    "RMSprop",
    "ReduceOnPlateau",
    "RelativeLoss",
    "StationaryPoint",
    "SteepestDescent",
    "StepDecay",
    "StepForecast",
    "SumOfSquares",
    "UniformAverage",
    "Validation",
    "WarmUp",
    "Whitened",
    "bracket",
    "classify",
    "descends",
    "fit_curve",
    "golden_section",
    "lasso_path",
    "minimize",
    "multipliers",
    "ridge",
    "ridge_folds",
    "steepest",
    "step_forecast",
]
