"""Weighted, savable preprocessing: scaling, encoding, imputation, whole tables."""

from likely.preprocess.basis import (
    FourierBasis,
    Interactions,
    NaturalSpline,
    PolynomialBasis,
)
from likely.preprocess.date_parts import DateParts
from likely.preprocess.imputer import Imputer
from likely.preprocess.one_hot import one_hot
from likely.preprocess.one_hot_encoder import OneHotEncoder
from likely.preprocess.ordinal_encoder import OrdinalEncoder
from likely.preprocess.scalers import MinMaxScaler, RobustScaler, StandardScaler
from likely.preprocess.table_encoder import TableEncoder
from likely.preprocess.target_encoder import TargetEncoder

__all__ = [
    "DateParts",
    "FourierBasis",
    "Imputer",
    "Interactions",
    "MinMaxScaler",
    "NaturalSpline",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PolynomialBasis",
    "RobustScaler",
    "StandardScaler",
    "TableEncoder",
    "TargetEncoder",
    "one_hot",
]
