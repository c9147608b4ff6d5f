"""What the command line and the lab share: the settings of a run, its result, its report."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
