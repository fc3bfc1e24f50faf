"""What groups of a source give to its accounts."""
