"""Support vector machines: the dual by SMO, the primal by Newton's method."""
