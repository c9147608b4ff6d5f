"""Categories as learned vectors."""
