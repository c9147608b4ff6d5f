"""What networks can represent: linear regions, constructive approximation, depth and width."""
