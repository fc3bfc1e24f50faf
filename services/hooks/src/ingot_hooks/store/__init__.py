"""Tables of hooks, their rows, and the SQL that reads and writes them."""
