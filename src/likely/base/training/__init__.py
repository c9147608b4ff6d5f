"""What is trained: options, members, validation rows, warm starts, checkpoints.

An estimator has a training, it does not inherit one. `TrainingOptions.of(estimator)` reads
the settings it has (`max_iter`, `batch_size`, `early_stopping`, `n_members`, ...) and fills
in the rest; `fit_members` and `one_pass` run a `TrainedLearner` with them.
"""
