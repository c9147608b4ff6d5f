"""Tables as arrays of codes and back: what generative models are fitted to."""
