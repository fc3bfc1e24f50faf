"""Pull requests: branches, commits, files, comparisons."""
