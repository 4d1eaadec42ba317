"""What is asked outside the poll: samples of sessions, latch holders, confirming queries."""
