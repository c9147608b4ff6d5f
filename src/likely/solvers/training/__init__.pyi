from .checkpoints import (
    Checkpoints as Checkpoints,
    ResumeWarning as ResumeWarning,
)
from .divergence import DivergenceWarning as DivergenceWarning
from .events import (
    Callback as Callback,
    Event as Event,
)
from .layout import Layout as Layout
from .members import (
    Plan as Plan,
    train_members as train_members,
)
from .observers import (
    History as History,
    MLflow as MLflow,
    ProgressBar as ProgressBar,
    TensorBoard as TensorBoard,
)
from .stream import Stream as Stream
from .training import Training as Training
