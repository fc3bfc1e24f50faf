"""HTTP/1.1 on sockets: a server protocol, a client between services, and the framing rules of both.

docs/adr/0029 has the promises. This package knows nothing of Ingot: error texts and settings come from its
callers.
"""
