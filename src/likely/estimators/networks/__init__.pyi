from .inputs import TableInputs as TableInputs
from .learner import (
    Architecture as Architecture,
    NetworkLearner as NetworkLearner,
)
from .predictor import NetworkPredictor as NetworkPredictor
