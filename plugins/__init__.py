"""NoneBot plugins: an event, one call of a service, a message. Modules beginning with an underscore are no plugins."""
