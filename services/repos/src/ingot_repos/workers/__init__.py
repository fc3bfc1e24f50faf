"""Background work: jobs, which are claimed, done and recorded, and the loop that maintains the storage."""
