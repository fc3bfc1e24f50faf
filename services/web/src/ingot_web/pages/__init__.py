"""The ground floor: requests for pages, templates, errors, what the process holds."""
