"""The stages of recall: one function per file; state in, update out."""
