"""Issues, pull requests, comments, labels, milestones and tracked times of repositories, and markdown."""
