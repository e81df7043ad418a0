"""Execution: a job comes in, a backend answers, events go out.

`backends` speaks each upstream's wire format and hands over parts; `emitter` shapes them into the events of
one response; the tasks around them claim, store and settle.
"""
