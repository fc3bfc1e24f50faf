"""The services that pages are made of."""
