"""Git with other servers: fetches, pushes, and the programs that git starts for them."""
