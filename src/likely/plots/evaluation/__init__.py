"""Pictures of decisions, intervals and sets."""
