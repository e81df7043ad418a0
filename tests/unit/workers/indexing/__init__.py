"""How files become chunks and vectors."""
