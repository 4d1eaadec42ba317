"""What would change a verdict: printed figures, what moves with them, and the nearest change that flips the verdict."""
