"""HTTP routes of hooks, with the structs of their requests and answers."""
