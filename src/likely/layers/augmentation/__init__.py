"""Data augmentation: random changes of images in training."""
