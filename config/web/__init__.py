"""The web server: daphne, with what it lacks to serve WebSockets to strangers. `python -m config.web`, as `daphne`."""
