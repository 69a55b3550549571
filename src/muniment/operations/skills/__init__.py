"""The noun group `skills`: procedures learned at run time, and the agent skills that a host mounts."""
