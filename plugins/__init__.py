"""NoneBot plugins. Each one turns an event into one call of a service and a message."""
