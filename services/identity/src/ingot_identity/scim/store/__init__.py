"""Tables and SQL of SCIM."""
