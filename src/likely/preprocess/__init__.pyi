from .basis import (
    FourierBasis as FourierBasis,
    Interactions as Interactions,
    NaturalSpline as NaturalSpline,
    PolynomialBasis as PolynomialBasis,
)
from .codec.table_codec import TableCodec as TableCodec
from .date_parts import DateParts as DateParts
from .imputer import Imputer as Imputer
from .one_hot import one_hot as one_hot
from .one_hot_encoder import OneHotEncoder as OneHotEncoder
from .ordinal_encoder import OrdinalEncoder as OrdinalEncoder
from .scalers import (
    MinMaxScaler as MinMaxScaler,
    RobustScaler as RobustScaler,
    StandardScaler as StandardScaler,
)
from .table_encoder import TableEncoder as TableEncoder
from .target_encoder import TargetEncoder as TargetEncoder
