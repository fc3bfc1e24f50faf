"""Work outside of requests: jobs, and the announcement of counts."""
