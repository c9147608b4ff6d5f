"""A detector trained on a folder of images with boxes, and its report."""
