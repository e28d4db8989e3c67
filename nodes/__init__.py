"""The stages, by graph: state in, update out."""
