"""The local runtime: everything Antiphon needs, started on one machine with nothing installed but Python.

`install` makes the virtual environment; `postgres`, `valkey` and `model` know how the embedded parts are run;
`children` runs processes; `supervisor` starts them in order, watches them and stops them in order; `demo`
makes the first tenant.
"""
