"""Rules of hooks: settings and secrets, subscriptions, payloads, signatures, the retry schedule, and access."""
