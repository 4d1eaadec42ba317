"""Roll-ups and retention."""
