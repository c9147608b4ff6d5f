"""Training: first-order solvers with callbacks, checkpoints and several devices."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
