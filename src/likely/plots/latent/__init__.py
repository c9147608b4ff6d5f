"""Pictures of latent structure: factors, clusters, maps, posterior draws."""
