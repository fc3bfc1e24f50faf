"""HTTP: routes and the shapes of their requests and answers."""
