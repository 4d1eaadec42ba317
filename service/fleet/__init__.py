"""Replicas that share one fleet of databases."""
