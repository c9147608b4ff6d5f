from .images.cnn import (
    CNNClassifier as CNNClassifier,
    CNNRegressor as CNNRegressor,
    ResNetClassifier as ResNetClassifier,
)
from .images.segmentation import UNetSegmenter as UNetSegmenter
from .images.vision_transformer import (
    VisionTransformerClassifier as VisionTransformerClassifier,
)
from .kernels.linear_svc import LinearSVC as LinearSVC
from .kernels.nystroem import Nystroem as Nystroem
from .kernels.svc import SVC as SVC
from .kernels.svr import SVR as SVR
from .linear.counts import (
    NegativeBinomialRegressor as NegativeBinomialRegressor,
    PoissonRegressor as PoissonRegressor,
)
from .linear.gamma import GammaRegressor as GammaRegressor
from .linear.inference.collinearity import CollinearityWarning as CollinearityWarning
from .linear.inference.comparison import (
    NatsDifference as NatsDifference,
    PartialEffect as PartialEffect,
    compare as compare,
    linearity_test as linearity_test,
    partial_effect as partial_effect,
)
from .linear.lasso import ElasticNet as ElasticNet, Lasso as Lasso
from .linear.logistic import (
    LogisticRegression as LogisticRegression,
    SeparationWarning as SeparationWarning,
)
from .linear.naive_bayes import GaussianNB as GaussianNB
from .linear.normal import LinearRegression as LinearRegression, Ridge as Ridge
from .linear.null import (
    NullClassifier as NullClassifier,
    NullRegressor as NullRegressor,
)
from .linear.ordinal import OrdinalRegression as OrdinalRegression
from .linear.perceptron import Perceptron as Perceptron
from .linear.quantile import (
    LADRegressor as LADRegressor,
    QuantileRegressor as QuantileRegressor,
)
from .linear.robust import HuberRegressor as HuberRegressor
from .linear.rounded import RoundedRegression as RoundedRegression
from .linear.spline import SplineRegressor as SplineRegressor
from .linear.survival import SurvivalRegression as SurvivalRegression
from .linear.tweedie import TweedieRegressor as TweedieRegressor
from .neighbors.nearest import (
    KNeighborsClassifier as KNeighborsClassifier,
    KNeighborsRegressor as KNeighborsRegressor,
)
from .networks.mlp import MLPClassifier as MLPClassifier, MLPRegressor as MLPRegressor
from .sequence.forecaster import Forecaster as Forecaster
from .sequence.sequences import (
    SequenceClassifier as SequenceClassifier,
    SequenceRegressor as SequenceRegressor,
)
from .sequence.tagger import SequenceTagger as SequenceTagger
from .trees.boosting import (
    GradientBoostingClassifier as GradientBoostingClassifier,
    GradientBoostingRegressor as GradientBoostingRegressor,
)
from .trees.forest import (
    RandomForestClassifier as RandomForestClassifier,
    RandomForestRegressor as RandomForestRegressor,
)
from .trees.tree import (
    DecisionTreeClassifier as DecisionTreeClassifier,
    DecisionTreeRegressor as DecisionTreeRegressor,
)
from .wrappers.bagging import (
    BaggingClassifier as BaggingClassifier,
    BaggingRegressor as BaggingRegressor,
)
from .wrappers.bounded_target import BoundedTarget as BoundedTarget
from .wrappers.consistency import ConsistencyTraining as ConsistencyTraining
from .wrappers.count_target import CountTarget as CountTarget
from .wrappers.frozen import FrozenFeatures as FrozenFeatures
from .wrappers.hurdle_target import HurdleTarget as HurdleTarget
from .wrappers.log_target import LogTarget as LogTarget
from .wrappers.masked_pretraining import MaskedPretraining as MaskedPretraining
from .wrappers.pseudo_labels import PseudoLabels as PseudoLabels
from .wrappers.smoothed import SmoothedClassifier as SmoothedClassifier
