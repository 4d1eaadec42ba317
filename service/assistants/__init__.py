"""`latchscope mcp`: assistants read a running service through the Model Context Protocol. They change nothing."""
