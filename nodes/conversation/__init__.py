"""The stages of a conversation with memory."""
