"""Settings of a repository: general, access, mirrors, transfer, protection of branches and tags."""
