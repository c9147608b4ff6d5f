"""Correlation on CPUs."""

from likely.layers import sliding

correlate = sliding.plain_correlate
images_of = sliding.plain_images
filters_of = sliding.plain_filters
