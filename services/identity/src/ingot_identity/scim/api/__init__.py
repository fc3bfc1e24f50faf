"""Routes of SCIM clients (RFC 7644), and of the administrators who create their tokens."""
