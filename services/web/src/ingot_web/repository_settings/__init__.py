"""Settings of a repository: general, access, mirrors, export, transfer, protection of branches and tags."""
