"""Adapters to libraries and frameworks that hosts use. Each imports its library when it is called, never before."""
