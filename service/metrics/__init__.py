"""/metrics: the families and their exposition."""
