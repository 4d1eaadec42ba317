"""What Oracle says: the views we read, one file each, and the way from rows to Snapshot and Delta."""
