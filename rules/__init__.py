"""What it means: child latch to cache, miss location to cause, Delta to Diagnosis."""
