"""What tests share: a scripted upstream, a raw client, and real processes of the service."""
