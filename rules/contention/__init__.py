"""What a change is worth: the contention model of a latch, its calibration, its predictions and its limits."""

import os

# As in `service.__main__`, for whoever imports the rules alone: threads of numpy's BLAS only spin at matrices like ours.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
