"""What every public class shares: rows, labels, settings, faces, training.

rows         checked X, y and sample_weight; absent rows made harmless
labels       classes to codes, their weights, distributions over them
settings     arguments stored untouched, refused in a sentence
predictor    the face of predictors, all of it derived from `predict_dist`
transformer  the face of transformers
density      the face of densities: `fit(X)`, `sample`, `log_prob`
learning     a `Learner` run on padded rows; fits on all folds as one program
outputs      a model for each column of y
marginal     a family fitted without inputs
training/    what is trained: options, members, checkpoints, warm start
"""
