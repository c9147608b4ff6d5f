"""Pictures of generative models: graphs, circuits, recalled patterns, samples."""
