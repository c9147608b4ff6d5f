"""Pictures of optimisation: rates, step limits, dynamics, implicit regularisation."""
