"""The frame of all pages of a repository; creation, imports, forks, stars and watchers."""
