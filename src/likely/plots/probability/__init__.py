"""Pictures of probability, information and analysis."""
