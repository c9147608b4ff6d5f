"""Decision trees, forests of them, and boosting."""
