"""The SMTP client."""
