"""HTTP as every service speaks it: the app, requests, errors, lists, who may call a route, and the server itself."""
