"""The `latchscope` command, a file for each group of commands."""
