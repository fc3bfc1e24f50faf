"""HTTP: routes with their request and response structs; each decides nothing but the shape of its answer."""
