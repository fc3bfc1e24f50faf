"""HTTP routes of hooks, with the shapes of their requests and answers."""
