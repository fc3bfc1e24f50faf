"""The job that imports an organization: its repositories, and then its teams."""
