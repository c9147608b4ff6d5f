"""What every public class shares: rows, labels, settings, faces, training."""
