"""What is known now, in memory: no I/O."""
