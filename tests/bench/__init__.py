"""The bench: a stub upstream, a load generator, and a table of Antiphon beside a peer on one machine."""
