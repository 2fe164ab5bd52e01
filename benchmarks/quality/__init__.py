"""How good answers are: programs over labelled data, each beside its baselines in the same run."""
