"""Long results of services as text for QQ."""
