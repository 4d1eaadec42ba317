"""Where the page for a hang stands: every output that reports a hang links to it by this constant."""

EMERGENCY_PAGE = "docs/emergency.md"
"""From the root of the project; no page of the service shows it yet, so it is named and not linked."""
EMERGENCY_NOTICE = f"Before anything is killed or restarted, collect what {EMERGENCY_PAGE} lists."
"""One sentence to print beside a hang."""
