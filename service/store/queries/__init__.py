"""Every query, a file for each subject."""
