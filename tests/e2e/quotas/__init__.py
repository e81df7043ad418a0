"""The proof of the quotas: a storm of requests, and what is looked at when its dust has settled."""
