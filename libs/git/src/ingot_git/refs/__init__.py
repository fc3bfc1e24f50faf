"""Names of refs, and the objects that they point to."""
