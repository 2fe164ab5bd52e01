"""HTTP to services that the operator configured: no redirects, bounded responses."""
