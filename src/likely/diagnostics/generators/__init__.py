"""Judging generative models: held-out nats, quality of their rows, what synthetic rows teach."""
