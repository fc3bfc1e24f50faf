"""Administration of the site: accounts, periodic tasks, jobs, events, audit log, rate limits."""
