"""The optional agent layer: the model looks things up by tools before it answers."""
