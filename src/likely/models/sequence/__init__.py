"""Models of sequences: recurrent networks and transformers."""
