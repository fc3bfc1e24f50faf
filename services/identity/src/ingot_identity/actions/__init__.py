"""Variables of Actions."""
