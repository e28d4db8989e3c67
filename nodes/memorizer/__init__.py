"""The stages of the memorizer: one function per file; state in, update out."""
