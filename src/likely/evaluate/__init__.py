"""4. Numbers from distributions and arrays: scores, calibration, conformal, splits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
