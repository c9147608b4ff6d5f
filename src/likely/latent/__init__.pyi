from .clusters.agglomerative import AgglomerativeClustering as AgglomerativeClustering
from .clusters.em import (
    em as em,
    evidence_bound as evidence_bound,
)
from .clusters.gap import GapStatistic as GapStatistic, gap_statistic as gap_statistic
from .clusters.gaussian_mixture import GaussianMixture as GaussianMixture
from .clusters.kmeans import KMeans as KMeans
from .clusters.mixture_model import MixtureModel as MixtureModel
from .clusters.nonparametric.chinese_restaurant import (
    ChineseRestaurant as ChineseRestaurant,
)
from .clusters.nonparametric.dirichlet_process import (
    DirichletProcessMixture as DirichletProcessMixture,
)
from .clusters.nonparametric.indian_buffet import IndianBuffet as IndianBuffet
from .clusters.nonparametric.indian_buffet_model import (
    IndianBuffetModel as IndianBuffetModel,
)
from .clusters.silhouette import silhouette as silhouette
from .clusters.stability import (
    cluster_stability as cluster_stability,
)
from .clusters.states.hidden_markov import HiddenMarkovModel as HiddenMarkovModel
from .factors.correspondence import CorrespondenceAnalysis as CorrespondenceAnalysis
from .factors.exponential_family_pca import (
    ExponentialFamilyPCA as ExponentialFamilyPCA,
)
from .factors.factor_analysis import FactorAnalysis as FactorAnalysis
from .factors.fast_ica import FastICA as FastICA
from .factors.held_out import HeldOutNats as HeldOutNats
from .factors.nmf import NMF as NMF
from .factors.pca import PCA as PCA
from .factors.probabilistic_pca import ProbabilisticPCA as ProbabilisticPCA
from .family_density import FamilyDensity as FamilyDensity
from .manifolds.classical_mds import ClassicalMDS as ClassicalMDS
from .manifolds.gplvm import GPLVM as GPLVM
from .manifolds.isomap import Isomap as Isomap
from .manifolds.locally_linear import LocallyLinearEmbedding as LocallyLinearEmbedding
from .manifolds.retrieval import Retrieval as Retrieval
from .manifolds.tsne import TSNE as TSNE
from .manifolds.umap import UMAP as UMAP
