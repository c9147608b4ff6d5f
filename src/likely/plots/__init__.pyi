from .ablation import ablation as ablation
from .attention_maps import attention_maps as attention_maps
from .checkpoint_timeline import checkpoint_timeline as checkpoint_timeline
from .computation_graph import computation_graph as computation_graph
from .curriculum_study import curriculum_study as curriculum_study
from .dependence import dependence as dependence
from .evaluation.cost_curve import cost_curve as cost_curve
from .evaluation.decision_costs import decision_costs as decision_costs
from .evaluation.interval_bands import interval_bands as interval_bands
from .expressivity.approximation import (
    approximation as approximation,
    approximations as approximations,
)
from .expressivity.linear_regions import linear_regions as linear_regions
from .expressivity.studies import (
    activation_study as activation_study,
    approximation_study as approximation_study,
    depth_study as depth_study,
    depth_table as depth_table,
    saturation as saturation,
    variance_propagation as variance_propagation,
)
from .expressivity.units import (
    regions_by_parameters as regions_by_parameters,
    unit_contributions as unit_contributions,
)
from .generalization.bias_variance import bias_variance as bias_variance
from .generalization.capacity_curve import capacity_curve as capacity_curve
from .generalization.fit_diagnosis import fit_diagnosis as fit_diagnosis
from .generalization.fitted_curves import fitted_curves as fitted_curves
from .generalization.interpolation import interpolation as interpolation
from .generalization.learning_curve import learning_curve as learning_curve
from .generalization.repeated_fits import repeated_fits as repeated_fits
from .generalization.risks import risks as risks
from .generative.circuit import circuit as circuit
from .generative.density_comparison import density_comparison as density_comparison
from .generative.directed_graph import directed_graph as directed_graph
from .generative.flow_warp import flow_warp as flow_warp
from .generative.hopfield_recall import hopfield_recall as hopfield_recall
from .generative.memory_capacity import memory_capacity as memory_capacity
from .generative.sample_scores import sample_scores as sample_scores
from .generative.synthetic_training import synthetic_training as synthetic_training
from .history import history as history
from .images import images as images
from .importances import importances as importances
from .landscape.batch_norm_study import batch_norm_study as batch_norm_study
from .landscape.hessian_spectrum import hessian_spectrum as hessian_spectrum
from .landscape.loss_landscape import loss_landscape as loss_landscape
from .landscape.sharpness import sharpness as sharpness
from .latent.biplot import biplot as biplot
from .latent.chain_traces import chain_traces as chain_traces
from .latent.cluster_ellipses import cluster_ellipses as cluster_ellipses
from .latent.component_grid import component_grid as component_grid
from .latent.dendrogram import dendrogram as dendrogram
from .latent.elbo_curves import elbo_curves as elbo_curves
from .latent.em_steps import em_steps as em_steps
from .latent.embedding_map import embedding_map as embedding_map
from .latent.mixture_density import mixture_density as mixture_density
from .latent.posterior_intervals import posterior_intervals as posterior_intervals
from .latent.rank_histograms import rank_histograms as rank_histograms
from .latent.responsibilities import responsibilities as responsibilities
from .latent.scree import scree as scree
from .latent.silhouette import silhouette as silhouette
from .map import map as map
from .margin import margin as margin
from .optimization.convergence_rates import convergence_rates as convergence_rates
from .optimization.implicit_regularization import (
    batch_size_study as batch_size_study,
    implicit_regularization as implicit_regularization,
    minimum_norm as minimum_norm,
)
from .optimization.linear_dynamics import linear_dynamics as linear_dynamics
from .optimization.step_limits import step_limits as step_limits
from .partial_effects import partial_effects as partial_effects
from .path import path as path
from .probability.bernstein import bernstein as bernstein
from .probability.central_limit import central_limit as central_limit
from .probability.convexity_witness import convexity_witness as convexity_witness
from .probability.fitted_counts import fitted_counts as fitted_counts
from .probability.huffman_tree import huffman_tree as huffman_tree
from .probability.kl_projections import kl_projections as kl_projections
from .probability.mosaic import mosaic as mosaic
from .probability.running_mean import running_mean as running_mean
from .probability.table_heat_map import table_heat_map as table_heat_map
from .reliability import reliability as reliability
from .residuals import residuals as residuals
from .roc import roc as roc
from .rows.check_list import check_list as check_list
from .rows.drift_effects import drift_effects as drift_effects
from .rows.group_measures import group_measures as group_measures
from .rows.influence_map import influence_map as influence_map
from .rows.label_noise_map import label_noise_map as label_noise_map
from .scaling_study import scaling_study as scaling_study
from .search_scores import search_scores as search_scores
from .signal_profile import signal_profile as signal_profile
from .trace import trace as trace
from .tree import tree as tree
from .vision.boxes import boxes as boxes
from .vision.detections import detections as detections
from .vision.gradient_histograms import gradient_histograms as gradient_histograms
from .vision.keypoint_matches import keypoint_matches as keypoint_matches
from .vision.keypoints import keypoints as keypoints
from .vision.precision_recall import precision_recall as precision_recall
from .vocabulary_study import vocabulary_study as vocabulary_study
