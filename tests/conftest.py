"""What tests of several folders share: one database, one application, one worker for each process of the run."""

pytest_plugins = ["tests.integration.fixtures"]
