"""The address of the page for a hang. Every output that reports a hang links to it by this constant."""

EMERGENCY_PAGE = "docs/emergency.md"
"""Relative to the root of the project."""
EMERGENCY_NOTICE = f"Before anything is killed or restarted, collect what {EMERGENCY_PAGE} lists."
"""One sentence to print beside a hang."""
