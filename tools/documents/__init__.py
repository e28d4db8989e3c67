"""Files of a user as text: read, decoded, and parsed under limits."""
