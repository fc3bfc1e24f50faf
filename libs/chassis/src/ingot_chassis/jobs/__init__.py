"""Work beside the requests: leased jobs and their workers, and supervised background loops."""
