"""Decisions of registration: who may register, new accounts, and the proof of work."""
