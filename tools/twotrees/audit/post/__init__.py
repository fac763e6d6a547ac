"""Reading a post: its text becomes typed claims and the relations among them, each with its line."""

from twotrees.audit.post.read import PostReading, read_post

__all__ = ["PostReading", "read_post"]
