from .attention.multi_head import (
    Cache as Cache,
    MultiHeadAttention as MultiHeadAttention,
)
from .attention.positions import (
    LearnedPositions as LearnedPositions,
    RelativeBias as RelativeBias,
    rotate as rotate,
    sinusoidal_positions as sinusoidal_positions,
)
from .attention.scores import attention as attention
from .attention.transformer import TransformerLayer as TransformerLayer
from .augmentation.augmentation import Augmentation as Augmentation
from .augmentation.columns import ColumnNoise as ColumnNoise
from .augmentation.warp import (
    affine as affine,
    warp as warp,
)
from .bijections.affine import AffineFunction as AffineFunction
from .bijections.autoregressive import Autoregressive as Autoregressive
from .bijections.composed import (
    Composed as Composed,
    Factored as Factored,
    FlatRows as FlatRows,
    Squeeze as Squeeze,
)
from .bijections.coupling import Coupling as Coupling
from .bijections.linear import (
    ActNorm as ActNorm,
    LULinear as LULinear,
    Permutation as Permutation,
)
from .bijections.pixels import PixelLogit as PixelLogit
from .bijections.sequential import (
    SequentialAutoregressive as SequentialAutoregressive,
)
from .bijections.spline import RationalQuadratic as RationalQuadratic
from .bijections.whitening import Whitening as Whitening
from .composition.adapted import (
    Adapted as Adapted,
    Adapter as Adapter,
)
from .composition.chain import (
    Chain as Chain,
    Pointwise as Pointwise,
    initial_state as initial_state,
)
from .composition.collapse import (
    collapse as collapse,
    compose as compose,
)
from .composition.concatenated import Concatenated as Concatenated
from .composition.condition import (
    Conditional as Conditional,
    Shifted as Shifted,
    Sinusoids as Sinusoids,
)
from .composition.flatten import Flatten as Flatten
from .composition.mixed_precision import (
    MixedPrecision as MixedPrecision,
    cast as cast,
)
from .composition.padded import (
    Padded as Padded,
    pad_sequences as pad_sequences,
)
from .composition.record import (
    Record as Record,
    record as record,
)
from .composition.residual import Residual as Residual
from .composition.shape import output_shape as output_shape
from .convolution.convolution import Convolution as Convolution
from .convolution.pooling import Pooling as Pooling
from .convolution.transposed import TransposedConvolution as TransposedConvolution
from .convolution.unpooling import Unpooling as Unpooling
from .convolution.upsampling import Upsampling as Upsampling
from .convolution.window import output_size as output_size
from .embedding.token_embedding import TokenEmbedding as TokenEmbedding
from .norms.batch_norm import (
    BatchNorm as BatchNorm,
    Running as Running,
)
from .norms.group_norm import GroupNorm as GroupNorm
from .norms.layer_norm import LayerNorm as LayerNorm
from .norms.rms_norm import RMSNorm as RMSNorm
from .recurrent.recurrent import Recurrent as Recurrent
from .units.activations import (
    ACTIVATIONS as ACTIVATIONS,
    ELU as ELU,
    GELU as GELU,
    Heaviside as Heaviside,
    LeakyReLU as LeakyReLU,
    PolynomialActivation as PolynomialActivation,
    PReLU as PReLU,
    Sigmoid as Sigmoid,
    activation as activation,
)
from .units.dense import Dense as Dense
from .units.dropout import Dropout as Dropout
from .units.gated import GatedMLP as GatedMLP
from .units.initializers import (
    INITIALIZERS as INITIALIZERS,
    GaussianInit as GaussianInit,
    HeInit as HeInit,
    UniformInit as UniformInit,
    XavierInit as XavierInit,
    ZeroInit as ZeroInit,
    initializer as initializer,
)
from .units.low_rank import LowRank as LowRank
