"""Git operations of pull requests for the service issues: heads, comparisons, merges."""
