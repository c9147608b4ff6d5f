"""What detectors minimise, in nats for each image where it is a likelihood."""
