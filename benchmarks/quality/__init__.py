"""Quality benchmarks: programs that evaluate answers on labelled data, each beside its baselines in the same run."""
