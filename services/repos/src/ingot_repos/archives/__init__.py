"""Archives: repositories in files, which Ingot writes and imports."""
