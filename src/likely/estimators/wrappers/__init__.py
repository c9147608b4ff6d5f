"""Estimators made of other estimators."""
