"""Files in a folder or in S3-compatible storage: streams with keys that services generate."""
