"""What hooks calls: its sister services, and the endpoints of the world."""
