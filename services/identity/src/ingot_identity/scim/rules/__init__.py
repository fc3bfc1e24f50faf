"""Rules and use cases of SCIM."""
