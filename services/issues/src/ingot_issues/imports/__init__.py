"""Issues of repositories that are imported from other servers."""
