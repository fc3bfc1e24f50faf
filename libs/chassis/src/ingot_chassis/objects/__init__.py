"""Files in a folder or in S3-compatible storage: written and read as streams, by keys that services make."""
