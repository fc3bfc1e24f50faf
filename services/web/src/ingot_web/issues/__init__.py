"""Issues: lists with filters, one issue with its timeline, comments, details, tasks."""
