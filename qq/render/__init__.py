"""Pictures, drawn from HTML templates without a browser and without any font of the system."""
