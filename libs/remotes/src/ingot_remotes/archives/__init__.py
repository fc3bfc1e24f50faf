"""Archives: the recording of a repository in one file."""
