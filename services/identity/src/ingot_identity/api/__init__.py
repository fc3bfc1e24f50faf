"""HTTP: routes, their policies, and the shapes of requests and answers."""
