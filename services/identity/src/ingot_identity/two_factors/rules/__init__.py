"""Rules and use cases of second factors."""
