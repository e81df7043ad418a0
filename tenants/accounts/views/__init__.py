"""The pages: each shows, or does one thing and leads on."""
