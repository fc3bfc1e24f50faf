"""Networks from which users sign in. A sign-in from a new network causes a mail."""
