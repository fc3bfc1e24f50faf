"""Payloads: the body of a delivery for each event and each type of hook."""
