"""What the gateway answers by itself."""
