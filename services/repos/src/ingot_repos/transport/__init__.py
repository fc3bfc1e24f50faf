"""Git over HTTP and SSH: pushes and fetches, and access checks while they run."""
