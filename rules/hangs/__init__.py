"""Wait chains: who waits behind whom, who is at the end, and the one command that may end it."""
