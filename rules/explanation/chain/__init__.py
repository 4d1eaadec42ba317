"""The chain of a Diagnosis: from the wait to the cause, link by link."""
