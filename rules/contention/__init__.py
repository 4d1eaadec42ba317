"""What a change is worth: the contention model of a latch, its calibration, its predictions and its limits."""
