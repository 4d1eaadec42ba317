"""What makes stores, exports and spools of older releases today's. It is frozen, and goes with the last of them."""
