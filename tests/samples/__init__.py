"""Sample files, made when a test needs them."""
