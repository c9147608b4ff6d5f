"""Pictures of losses around weights: landscapes, spectra, what batch norm changes."""
