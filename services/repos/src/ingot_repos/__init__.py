"""repos: repositories, git over HTTP, and who may do what to a repository."""
