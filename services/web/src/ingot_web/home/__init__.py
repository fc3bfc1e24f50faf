"""The first page of the site, and the issues and pull requests that wait for the caller."""
