"""Keywords such as `fixes #3` in merges and commits, which close and reopen issues."""
