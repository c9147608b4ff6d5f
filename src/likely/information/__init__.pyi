from .bias import (
    BiasCheck as BiasCheck,
    bias_check as bias_check,
)
from .codes.arithmetic import ArithmeticCode as ArithmeticCode
from .codes.code import (
    Code as Code,
    excess_length as excess_length,
    ideal_lengths as ideal_lengths,
    shannon_code as shannon_code,
)
from .codes.huffman import huffman_code as huffman_code
from .columns import (
    column_information as column_information,
    mutual_information_matrix as mutual_information_matrix,
)
from .divergence import (
    SupportWarning as SupportWarning,
    cross_entropy as cross_entropy,
    jensen_shannon as jensen_shannon,
    kl as kl,
)
from .entropies import entropy as entropy
from .estimate import Estimate as Estimate
from .gaussian import (
    gaussian_entropy as gaussian_entropy,
    gaussian_kl as gaussian_kl,
    gaussian_mutual_information as gaussian_mutual_information,
)
from .nearest import (
    sample_class_information as sample_class_information,
    sample_entropy as sample_entropy,
    sample_mutual_information as sample_mutual_information,
)
from .nearest_member import (
    CrossEntropyFit as CrossEntropyFit,
    cross_entropy_fit as cross_entropy_fit,
)
from .projection import (
    NearestGaussian as NearestGaussian,
    Projections as Projections,
    kl_projections as kl_projections,
)
from .self_information import surprise as surprise
from .table_information import mutual_information as mutual_information
