"""Work in the background of deliveries."""
