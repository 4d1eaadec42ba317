"""Settings, secrets, units, logging and the audit log: everything an operator sets."""
