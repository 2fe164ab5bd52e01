"""Sample files that are generated when a test needs them."""
