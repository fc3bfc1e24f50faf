"""Who is calling, what is signed and encrypted, and which addresses outside may be reached."""
