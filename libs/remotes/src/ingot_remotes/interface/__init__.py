"""The interface of sources: pages of values, of any family."""
