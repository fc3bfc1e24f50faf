"""Callers, signatures, encryption, and the external addresses that may be reached."""
