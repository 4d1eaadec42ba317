"""Telling others of episodes: the event feed and webhooks."""
