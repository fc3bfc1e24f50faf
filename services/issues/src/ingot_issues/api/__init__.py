"""HTTP: routes with the structs they read and write."""
