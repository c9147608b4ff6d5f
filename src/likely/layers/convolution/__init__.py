"""Convolution, its transpose, pooling and upsampling."""
