"""Rules of hooks: what may be set, what fires, what is sent, when again, and where to never."""
