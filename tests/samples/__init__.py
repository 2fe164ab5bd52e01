"""Generate sample files when a test needs them."""
