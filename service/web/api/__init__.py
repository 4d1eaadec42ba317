"""REST: the routes and their HTTP."""
