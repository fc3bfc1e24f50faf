"""Calls to other services: over HTTP, or into their app in the same process."""
