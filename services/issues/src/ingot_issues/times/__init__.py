"""Tracked times and stopwatches."""
