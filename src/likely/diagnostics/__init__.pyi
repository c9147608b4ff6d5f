from .anatomy import (
    Anatomy as Anatomy,
    anatomy as anatomy,
    dead_units as dead_units,
    parameter_count as parameter_count,
)
from .attention.ablation import (
    Ablated as Ablated,
    Ablation as Ablation,
    ablation as ablation,
)
from .attention.induction import (
    InductionTest as InductionTest,
    induction_test as induction_test,
)
from .attention.maps import (
    attention_maps as attention_maps,
    attention_rollout as attention_rollout,
)
from .attention.permutations import (
    PermutationTest as PermutationTest,
    PositionStudy as PositionStudy,
    permutation_equivariance as permutation_equivariance,
    position_study as position_study,
)
from .attention.scaling import (
    Saturation as Saturation,
    ScalingStudy as ScalingStudy,
    scaling_study as scaling_study,
)
from .feature_maps import (
    feature_maps as feature_maps,
    filters as filters,
    maximal_input as maximal_input,
)
from .recall import (
    Recall as Recall,
    RecallAblation as RecallAblation,
    factual_recall as factual_recall,
    neuron_ablation as neuron_ablation,
    recall_ablation as recall_ablation,
)
from .regions import (
    Pieces as Pieces,
    Region as Region,
    linear_pieces as linear_pieces,
    linear_regions as linear_regions,
)
from .saliency import (
    class_activation as class_activation,
    saliency as saliency,
)
from .signals import (
    SignalProfile as SignalProfile,
    gradient_autocorrelation as gradient_autocorrelation,
    signal_profile as signal_profile,
)
from .survey import (
    Survey as Survey,
    flops as flops,
    receptive_field as receptive_field,
    stacked_field as stacked_field,
    survey as survey,
)
from .symmetry import (
    equivariance_error as equivariance_error,
    invariance_error as invariance_error,
)
