"""Non-differentiable penalties: the lasso, coordinate descent, proximal gradients."""
