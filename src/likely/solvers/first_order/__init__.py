"""Solvers that follow the gradient, with minibatches and schedules."""
