"""The journal of pushes: each push has an entry from before its refs move until the moves are announced."""
