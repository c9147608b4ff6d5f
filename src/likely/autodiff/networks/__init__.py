"""The layers of a network in a program, and how its gradients pass through depth and time."""
