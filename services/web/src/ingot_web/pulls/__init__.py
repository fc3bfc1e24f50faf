"""Pull requests: lists, one with its merge box, its commits, merging, updating."""
