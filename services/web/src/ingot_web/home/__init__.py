"""The first page of the site, and the open issues and pull requests of the caller."""
