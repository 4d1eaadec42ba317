"""`latchscope top`: a live view in a terminal."""
