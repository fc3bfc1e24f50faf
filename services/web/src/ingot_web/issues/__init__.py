"""Issues: lists with filters, one issue with its timeline, comments, decisions about it, tasks."""
