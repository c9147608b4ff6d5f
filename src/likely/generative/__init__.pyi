from .autoencoders.autoencoder import Autoencoder as Autoencoder
from .autoencoders.features import AutoencoderFeatures as AutoencoderFeatures
from .autoencoders.latent_walks import (
    decode_neighbors as decode_neighbors,
    decode_random as decode_random,
)
from .autoencoders.linear_code import LinearCode as LinearCode
from .autoencoders.linear_gaussian import LinearGaussianVAE as LinearGaussianVAE
from .autoencoders.ring import gaussian_ring as gaussian_ring
from .autoencoders.vae import VAE as VAE
from .autoregressive.autoregressive_density import (
    AutoregressiveDensity as AutoregressiveDensity,
)
from .circuits.sum_product_network import SumProductNetwork as SumProductNetwork
from .diffusion.diffusion import Diffusion as Diffusion
from .diffusion.schedule import NoiseSchedule as NoiseSchedule
from .energies.capacity import (
    HopfieldCapacity as HopfieldCapacity,
    hopfield_capacity as hopfield_capacity,
    hopfield_critical_load as hopfield_critical_load,
    hopfield_overlap as hopfield_overlap,
    hopfield_storage as hopfield_storage,
)
from .energies.hopfield import HopfieldNetwork as HopfieldNetwork
from .energies.restricted_boltzmann import (
    RestrictedBoltzmannMachine as RestrictedBoltzmannMachine,
)
from .flows.normalizing_flow import NormalizingFlow as NormalizingFlow
from .gan.collapse import CollapseWarning as CollapseWarning
from .gan.gan import GAN as GAN
from .graphs.bayesian_network import BayesianNetwork as BayesianNetwork
from .graphs.by_hand import LinearNormal as LinearNormal
from .graphs.directed_graph import DirectedGraph as DirectedGraph
from .graphs.equivalence import (
    EquivalenceClass as EquivalenceClass,
    equivalence_class as equivalence_class,
    markov_equivalent as markov_equivalent,
)
from .graphs.mixture_answer import MixtureAnswer as MixtureAnswer
