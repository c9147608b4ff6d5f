"""Estimators with conformal intervals and sets, which cover whatever the model."""
