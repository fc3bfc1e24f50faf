"""The page that resolves conflicts of a pull request."""
