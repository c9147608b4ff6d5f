"""Support vector machines: the dual pair by pair, the primal by Newton's method."""
