"""Nearest rows: exactly, or approximately by a graph of neighbours that improves itself."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
