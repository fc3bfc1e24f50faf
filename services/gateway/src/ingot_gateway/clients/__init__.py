"""The requests that the gateway itself makes to services."""
