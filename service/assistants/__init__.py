"""`latchscope mcp`: assistants ask through the Model Context Protocol, and read only."""
