"""HTTP of all services: the app, requests, errors, lists, policies of routes, and the server."""
