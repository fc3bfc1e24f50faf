"""Search over repositories, people, issues, files and commands."""
