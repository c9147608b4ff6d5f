"""Random changes of images in training."""
