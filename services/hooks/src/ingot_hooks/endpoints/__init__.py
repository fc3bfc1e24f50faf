"""External endpoints: HTTP, and the addresses that a delivery may reach."""
