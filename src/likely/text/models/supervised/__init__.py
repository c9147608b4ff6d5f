"""Models of texts with targets: classes, numbers, labels of words; and their linear baseline."""
