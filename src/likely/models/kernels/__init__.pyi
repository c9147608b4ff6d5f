from .functions import (
    Definiteness as Definiteness,
    Kernel as Kernel,
    definiteness as definiteness,
    disc_feature as disc_feature,
    gram as gram,
    kernel_of as kernel_of,
    polynomial_features as polynomial_features,
    structural_risk as structural_risk,
)
