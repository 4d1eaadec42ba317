"""What judges a diagnosis from outside: it shares no code with the rules."""
