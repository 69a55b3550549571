"""What happens in a space, event by event."""
