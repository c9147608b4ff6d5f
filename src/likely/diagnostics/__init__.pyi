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
from .batch_norm.report import BatchNormStudy as BatchNormStudy
from .batch_norm.study import batch_norm_study as batch_norm_study
from .checks.check import (
    CheckReport as CheckReport,
    check as check,
)
from .checks.finding import Finding as Finding
from .curriculum_study import (
    CurriculumStudy as CurriculumStudy,
    curriculum_study as curriculum_study,
)
from .dynamics.flow import gradient_flow as gradient_flow
from .dynamics.linear_dynamics import linear_dynamics as linear_dynamics
from .dynamics.linear_network import balanced as balanced
from .dynamics.report import LinearDynamics as LinearDynamics
from .expressivity.activation_study import (
    ActivationStudy as ActivationStudy,
    activation_study as activation_study,
)
from .expressivity.approximation import Approximation as Approximation
from .expressivity.depth import (
    DepthTable as DepthTable,
    depth_table as depth_table,
    square_network as square_network,
)
from .expressivity.depth_study import (
    DepthStudy as DepthStudy,
    depth_study as depth_study,
)
from .expressivity.efficiency import (
    ApproximationStudy as ApproximationStudy,
    approximation_study as approximation_study,
)
from .expressivity.folding import (
    FoldingNetwork as FoldingNetwork,
    folding_network as folding_network,
)
from .expressivity.region_bounds import (
    RegionBounds as RegionBounds,
    arrangement_regions as arrangement_regions,
    region_bounds as region_bounds,
)
from .expressivity.region_count import (
    RegionCount as RegionCount,
    count_regions as count_regions,
)
from .expressivity.region_study import (
    RegionStudy as RegionStudy,
    region_study as region_study,
)
from .expressivity.ridges import ridge_network as ridge_network
from .expressivity.splines import (
    bernstein_network as bernstein_network,
    polygonal_network as polygonal_network,
    spline_network as spline_network,
)
from .expressivity.steps import (
    box_network as box_network,
    finite_network as finite_network,
    interval_network as interval_network,
)
from .expressivity.units import (
    UnitContributions as UnitContributions,
    unit_contributions as unit_contributions,
)
from .feature_maps import (
    feature_maps as feature_maps,
    filters as filters,
    maximal_input as maximal_input,
)
from .generalization.capacity.curve import CapacityCurve as CapacityCurve
from .generalization.capacity.double_descent import double_descent as double_descent
from .generalization.capacity.interpolation import (
    InterpolationThreshold as InterpolationThreshold,
    interpolation_threshold as interpolation_threshold,
)
from .generalization.decomposition.bias_variance import bias_variance as bias_variance
from .generalization.decomposition.result import (
    BiasVariance as BiasVariance,
    RepeatedFits as RepeatedFits,
)
from .generalization.learning.diagnose import diagnose_fit as diagnose_fit
from .generalization.learning.diagnosis import FitDiagnosis as FitDiagnosis
from .generalization.learning.forecast import Forecast as Forecast
from .generalization.learning.learning_curve import learning_curve as learning_curve
from .generalization.learning.result import LearningCurve as LearningCurve
from .generalization.risk.expected import (
    expected_risk as expected_risk,
    generalization_gap as generalization_gap,
)
from .generalization.risk.result import Risks as Risks
from .generators.cells import cell_log_probs as cell_log_probs
from .generators.coded_density import CodedDensity as CodedDensity
from .generators.compare_densities import compare_densities as compare_densities
from .generators.density_comparison import DensityComparison as DensityComparison
from .generators.sample_scores import (
    SampleReport as SampleReport,
    judge_samples as judge_samples,
)
from .generators.synthetic_training import (
    SyntheticTraining as SyntheticTraining,
    train_on_synthetic as train_on_synthetic,
)
from .implicit.batch_sizes import (
    BatchSizeStudy as BatchSizeStudy,
    batch_size_study as batch_size_study,
)
from .implicit.minimum_norm import (
    MinimumNorm as MinimumNorm,
    minimum_norm as minimum_norm,
)
from .implicit.modified_loss import (
    ModifiedLoss as ModifiedLoss,
    modified_loss as modified_loss,
)
from .implicit.orders import (
    ImplicitRegularization as ImplicitRegularization,
    implicit_regularization as implicit_regularization,
)
from .influence.influence import influence as influence
from .influence.result import Influence as Influence
from .landscape.directions import direction_to as direction_to
from .landscape.landscape import loss_landscape as loss_landscape
from .landscape.report import LossLandscape as LossLandscape
from .landscape.sharpness import (
    Sharpness as Sharpness,
    sharpness as sharpness,
)
from .landscape.sources import loss_surface as loss_surface
from .landscape.spectrum import (
    HessianSpectrum as HessianSpectrum,
    hessian_spectrum as hessian_spectrum,
)
from .landscape.surface import LossSurface as LossSurface
from .propagation.saturation import (
    SaturationReport as SaturationReport,
    saturation as saturation,
)
from .propagation.variances import (
    VariancePropagation as VariancePropagation,
    variance_propagation as variance_propagation,
)
from .rates.convergence import (
    ConvergenceRates as ConvergenceRates,
    convergence_rates as convergence_rates,
)
from .rates.step_limits import (
    StepLimits as StepLimits,
    step_limits as step_limits,
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
from .rows.drift import (
    Drift as Drift,
    drift as drift,
)
from .rows.fairness import (
    Fairness as Fairness,
    fairness as fairness,
)
from .rows.label_noise import (
    LabelNoise as LabelNoise,
    label_noise as label_noise,
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
