"""Tables, engine and migrations."""
