"""Forward, reverse and checkpointed mode over a program, whole Jacobians, and their costs."""
