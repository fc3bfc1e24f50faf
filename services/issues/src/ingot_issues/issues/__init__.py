"""Issues: title, text, state, assignees, labels, pins. A pull request is an issue, too."""
