"""The calls the gateway makes by itself."""
