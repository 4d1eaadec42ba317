"""Sends episodes to others: the event feed, webhooks and notifications."""
