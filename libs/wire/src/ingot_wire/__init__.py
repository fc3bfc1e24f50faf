"""HTTP/1.1 on sockets: a server protocol, a client between services, and the framing rules of both sides.

ADR 29 lists the guarantees. This package does not depend on Ingot: error texts and settings come from its
callers.
"""
