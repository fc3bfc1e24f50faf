"""Creates objects: commits, merges, reverts, patches."""
