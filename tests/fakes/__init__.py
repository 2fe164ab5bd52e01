"""Real implementations of the product's interfaces, small enough for tests."""
