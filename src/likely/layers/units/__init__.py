"""Dense layers, activations, dropout, and weight initialisation."""
