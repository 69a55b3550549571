"""What turns text into vectors: models that run here, and how far what they return is trusted. No store, no key."""
