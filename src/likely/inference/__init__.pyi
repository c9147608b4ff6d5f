from .bootstrap import (
    bootstrap as bootstrap,
    resampled_weights as resampled_weights,
)
from .correlation import (
    Correlation as Correlation,
    correlation as correlation,
)
from .estimate import Estimate as Estimate
from .information import (
    Curvature as Curvature,
    curvature as curvature,
    information as information,
    inverse as inverse,
    joint_information as joint_information,
    scores as scores,
)
from .nested import (
    TestResult as TestResult,
    anova as anova,
    f_test as f_test,
    likelihood_ratio_test as likelihood_ratio_test,
    t_test as t_test,
)
from .sandwich import sandwich as sandwich
from .summary import Summary as Summary
