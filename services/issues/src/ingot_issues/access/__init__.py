"""Rights of callers: policies of routes, and the request that every route gets."""
