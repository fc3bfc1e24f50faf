"""Tables, rows and SQL of deliveries."""
