"""Pictures of how models do on new rows."""
