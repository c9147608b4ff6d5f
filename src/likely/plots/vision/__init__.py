"""Pictures of images with what was found in them: boxes, keypoints, gradients."""
