"""Files from people: captures, reports, archives, uploads."""
