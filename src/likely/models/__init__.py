"""2. η = f(x; φ): callable pytrees from rows to unconstrained parameters."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
