"""Human review: what waits for a person's decision, and the way of the decided answer to its asker."""
