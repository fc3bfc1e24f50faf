"""Placement of repositories on shards: rows of shards and replicas, and forwarding to another shard."""
