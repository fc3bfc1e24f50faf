"""Teams and rights that groups of a source give to its accounts."""
