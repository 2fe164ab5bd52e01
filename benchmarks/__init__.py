"""Programs that measure the product against a baseline in the same run; never tests."""
