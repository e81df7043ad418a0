"""The shapes that the specification's schemas demand of what a server sends.

Fields that are optional and not nullable are `NotRequired`: absent is right, null is not. Further fields may be there.
"""
