"""Reviews of pull requests: changed files, comments on lines, suggestions, marks on files."""
