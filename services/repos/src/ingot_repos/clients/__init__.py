"""Clients of other services and shards, and the proxy through which git reaches remotes."""
