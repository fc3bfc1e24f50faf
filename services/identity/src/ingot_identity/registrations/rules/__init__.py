"""Rules of registration: the right to register, new accounts, and the proof of work."""
