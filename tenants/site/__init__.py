"""The site that people come to: in which scope they are, and who may come in."""
