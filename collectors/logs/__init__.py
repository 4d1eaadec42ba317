"""What an instance writes to files: its alert log and its trace files, read without a connection."""
