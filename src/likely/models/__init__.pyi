from .flows.base import (
    StandardNormal as StandardNormal,
    StandardStudent as StandardStudent,
)
from .flows.flow import Flow as Flow
from .flows.image_flow import ImageFlow as ImageFlow
from .flows.table_flow import TableFlow as TableFlow
from .images.backbone import Backbone as Backbone
from .images.blocks import residual_block as residual_block
from .images.cnn import (
    CNN as CNN,
    alexnet as alexnet,
    lenet as lenet,
)
from .images.resnet import (
    ResNet as ResNet,
    resnet8 as resnet8,
    resnet18 as resnet18,
)
from .images.unet import (
    UNet as UNet,
    super_resolution as super_resolution,
    timed as timed,
)
from .linear.linear import Linear as Linear
from .linear.null import Null as Null
from .linear.offset import Offset as Offset
from .linear.shared import Shared as Shared
from .masked_mlp import MaskedMLP as MaskedMLP
from .mlp import (
    MLP as MLP,
    mlp as mlp,
)
from .sequence.beam_search import beam_search as beam_search
from .sequence.block_network import BlockNetwork as BlockNetwork
from .sequence.configurations import (
    BERT as BERT,
    bert as bert,
    gpt2 as gpt2,
    vit as vit,
)
from .sequence.encoder_decoder import EncoderDecoder as EncoderDecoder
from .sequence.generation import (
    generate as generate,
    stream as stream,
)
from .sequence.recurrent_network import RecurrentNetwork as RecurrentNetwork
from .sequence.sampling import (
    next_token_log_probs as next_token_log_probs,
    token_log_probs as token_log_probs,
)
from .sequence.torch_weights import sequence_from_torch as sequence_from_torch
from .sequence.transformer import Transformer as Transformer
from .sequence.vision_transformer import VisionTransformer as VisionTransformer
from .torch_state import (
    from_torch as from_torch,
    to_torch as to_torch,
)
