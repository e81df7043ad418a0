"""Starts the Celery worker as `config.celery` says it must be run: `python -m config.worker`."""

from config.celery import WORKER_ARGUMENTS, app

if __name__ == "__main__":
    app.worker_main(["worker", "--loglevel=INFO", *WORKER_ARGUMENTS])
