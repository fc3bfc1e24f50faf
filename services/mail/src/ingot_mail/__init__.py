"""Mail: notifications and account messages by SMTP."""
