"""Previews of texts before they are sent."""
