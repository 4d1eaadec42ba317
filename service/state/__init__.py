"""The current state, in memory: no I/O."""
