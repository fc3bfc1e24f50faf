"""Git's protocols: packets, advertisements, and the requests of fetches and pushes."""
