"""The scikit-learn face of supervised models; a line in the stub beside is a public name."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
