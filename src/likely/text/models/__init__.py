"""Models of sequences of tokens: their windows, their learner, the estimators."""
