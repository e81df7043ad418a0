"""The site in a real browser: the way of a new team, and what every page is like for everybody."""
