"""The service repos: repositories, git over HTTP and SSH, and access to them."""
