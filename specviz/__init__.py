"""SpecViz shows speculative decoding at work on your own machine, and whether it pays."""

__version__ = "0.1.0"
