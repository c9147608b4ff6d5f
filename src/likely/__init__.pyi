"""What type checkers see of the names that are loaded when they are used."""

from likely import (
    analysis as analysis,
    autodiff as autodiff,
    base as base,
    core as core,
    data as data,
    diagnostics as diagnostics,
    estimators as estimators,
    evaluate as evaluate,
    families as families,
    files as files,
    generative as generative,
    inference as inference,
    information as information,
    latent as latent,
    layers as layers,
    models as models,
    objectives as objectives,
    plots as plots,
    preprocess as preprocess,
    probability as probability,
    recipe as recipe,
    selection as selection,
    solvers as solvers,
    text as text,
    typing as typing,
    vision as vision,
    workbench as workbench,
)
from likely.core import tune_host as tune_host
from likely.diagnostics import (
    check as check,
    compare_densities as compare_densities,
)
from likely.estimators import *
from likely.files import load as load, save as save
from likely.generative import *
from likely.inference import (
    anova as anova,
    correlation as correlation,
    t_test as t_test,
)
from likely.latent import *
from likely.selection import *
from likely.text import *
from likely.vision import *

__version__: str
