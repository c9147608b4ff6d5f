"""The influence of single rows on a fit: exactly, by one Newton step, or by gradients."""
