"""The lowest layer of web: page requests, templates, errors, and objects of the process."""
