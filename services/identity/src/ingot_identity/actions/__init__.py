"""Variables of actions."""
