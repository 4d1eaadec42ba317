"""What latchscope reads outside the poll: samples of sessions, latch holders, confirming queries."""
