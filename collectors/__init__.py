"""What Oracle says: the views latchscope reads, one file each, and the way from rows to Snapshot and Delta."""
