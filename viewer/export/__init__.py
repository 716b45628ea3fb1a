"""Export: what is seen, in a file."""
