"""The files of a repository: folders, files, blame, search, editing."""
