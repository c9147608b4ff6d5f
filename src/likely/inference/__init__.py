"""4. Uncertainty in φ: Wald and likelihood-ratio tests, robust errors, the bootstrap."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
