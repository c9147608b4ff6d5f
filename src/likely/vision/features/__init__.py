"""Features of images by hand: rectangles, gradients, keypoints that are found again."""
