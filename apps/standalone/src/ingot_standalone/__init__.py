"""The `ingot` command: all services of Ingot in one process, on one machine."""
