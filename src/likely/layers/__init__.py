"""2. Layers of models; each is itself a model: layer(X, *, w, key, state)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
