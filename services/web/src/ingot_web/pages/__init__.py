"""The lowest layer of web: requests for pages, templates, errors, and objects of the process."""
