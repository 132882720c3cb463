"""Trains the blocks of a Kiln project on a Ray cluster: one task is one `kiln` command."""

__version__ = "0.1.0"
