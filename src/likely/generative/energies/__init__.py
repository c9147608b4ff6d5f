"""Models by an energy: restricted Boltzmann machines and Hopfield networks."""
