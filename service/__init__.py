"""What people see: command line, REST, metrics, pages, store."""
