"""Events between services: the envelope, the relay that sends them, the consumers that apply them."""
