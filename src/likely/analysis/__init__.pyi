from .approximation.bernstein import (
    BernsteinPolynomial as BernsteinPolynomial,
    bernstein_bound as bernstein_bound,
)
from .approximation.errors import (
    Convergence as Convergence,
    UniformError as UniformError,
    convergence as convergence,
    uniform_error as uniform_error,
)
from .approximation.minimax import (
    MinimaxPolynomial as MinimaxPolynomial,
    minimax_polynomial as minimax_polynomial,
)
from .convex.function import convexity as convexity
from .convex.region import set_convexity as set_convexity
from .convex.rules import (
    Curved as Curved,
    affine_input as affine_input,
    composition as composition,
    curved as curved,
    maximum as maximum,
    weighted_sum as weighted_sum,
)
from .matrices.definiteness import (
    Definiteness as Definiteness,
    definiteness as definiteness,
    leading_minors as leading_minors,
    positive_definite as positive_definite,
    principal_minors as principal_minors,
)
from .matrices.identities import (
    Frobenius as Frobenius,
    Traces as Traces,
    frobenius as frobenius,
    traces as traces,
)
from .matrices.linearity import linearity as linearity
from .smoothness.curvature import (
    CurvatureBounds as CurvatureBounds,
    curvature_bounds as curvature_bounds,
    strong_convexity as strong_convexity,
)
from .smoothness.lipschitz import (
    LipschitzEstimate as LipschitzEstimate,
    lipschitz_estimate as lipschitz_estimate,
)
from .smoothness.network import (
    LipschitzBound as LipschitzBound,
    lipschitz_bound as lipschitz_bound,
)
from .smoothness.regularity import (
    CounterExample as CounterExample,
    Regularity as Regularity,
    counter_examples as counter_examples,
    regularity as regularity,
)
from .verdict import Verdict as Verdict
