"""Statements that read several views at once, which a poll sends instead of one per view. One SQL file per group and release."""
