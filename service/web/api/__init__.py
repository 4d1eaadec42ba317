"""REST: routes and what they need of HTTP."""
