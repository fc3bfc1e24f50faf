"""Callers, signatures, encryption, and the addresses outside that may be reached."""
