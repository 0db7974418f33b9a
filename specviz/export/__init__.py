"""Writes what traces hold to files that other programs read. Knows traces and nothing else."""
