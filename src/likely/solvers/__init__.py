"""3b. How objectives are minimised. Settings only: solvers know no probability."""

from likely.solvers.averaging import ExponentialAverage, UniformAverage
from likely.solvers.bfgs import BFGS
from likely.solvers.block_coordinate import BlockCoordinate
from likely.solvers.clipping import ClipByNorm, ClipByValue
from likely.solvers.coordinate import CoordinateDescent
from likely.solvers.curve import Curve, CurveFit, SumOfSquares, fit_curve
from likely.solvers.first_order import (
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
from likely.solvers.function import Function, minimize
from likely.solvers.genetic import Genetic
from likely.solvers.lagrangian import LagrangeNewton, multipliers
from likely.solvers.lasso_path import LassoPath, lasso_path
from likely.solvers.lbfgs import LBFGS
from likely.solvers.least_squares import LeastSquares
from likely.solvers.levenberg_marquardt import LevenbergMarquardt
from likely.solvers.line_search import bracket, golden_section
from likely.solvers.minibatches import Minibatches
from likely.solvers.newton import Newton
from likely.solvers.noise import Noise
from likely.solvers.proximal import ProximalGradient
from likely.solvers.ridge import ridge, ridge_folds
from likely.solvers.schedules import (
    Constant,
    Cosine,
    ExponentialDecay,
    InverseTime,
    ReduceOnPlateau,
    StepDecay,
    WarmUp,
)
from likely.solvers.stationary import (
    StationaryPoint,
    StepForecast,
    classify,
    step_forecast,
)
from likely.solvers.steepest_descent import SteepestDescent
from likely.solvers.stopping import (
    GradientNorm,
    ParameterChange,
    RelativeLoss,
    Validation,
)
from likely.solvers.whitened import Whitened

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
