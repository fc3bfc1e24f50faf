"""Pull requests: lists, the page with its merge box, commits, merging, updating."""
