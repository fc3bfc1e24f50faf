"""The mailbox that receives replies, polled by IMAP. A mail server can also post them (``replies.api``)."""
