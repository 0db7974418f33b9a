"""Decoding: the loop, the drafters, the model adapters. No Qt, no processes, no text output."""
