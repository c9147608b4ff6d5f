"""How a program is compiled."""

LEAN = {"xla_cpu_use_fusion_emitters": False}
"""Compiler options for a program that runs once: a third less time to compile it.

A long loop would lose more by it than it gains: up to half of its speed.
"""
