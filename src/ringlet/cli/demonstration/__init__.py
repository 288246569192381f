"""The two worlds of `ringlet demo`: a sensor log and a photo, and the page about both."""
