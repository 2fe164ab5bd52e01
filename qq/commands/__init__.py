"""Commands: one table for each plugin, from which matchers, rights, help and the texts about mistakes are derived."""
