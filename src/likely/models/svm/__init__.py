"""Support vector machines on the host: the dual by pairs, the primal by Newton."""
