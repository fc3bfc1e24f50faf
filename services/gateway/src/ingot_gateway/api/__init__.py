"""The routes that the gateway answers itself: the version, the API description and its page."""
