"""Shards: moves, replicas, request counts and balancing."""
