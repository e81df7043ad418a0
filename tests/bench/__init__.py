"""The load bench: a stub upstream, a load generator, and a table of Antiphon beside its peer on one machine."""
