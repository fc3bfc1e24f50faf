"""Background work: leased jobs and their workers, and supervised loops."""
