"""Maps that correct predicted probabilities and distributions, fitted to held-out rows."""
