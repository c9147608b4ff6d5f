"""Networks of detectors: from an image to boxes and the classes in them."""
