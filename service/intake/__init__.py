"""Files that people hand in: captures, reports, archives, uploads."""
