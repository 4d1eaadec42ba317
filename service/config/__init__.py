"""Settings, secrets, units, logging and the audit log: what an operator sets."""
