"""The adapter to llama_cpp, and the only place that imports it.

Works on the low-level bindings and checks every precondition before the call, because llama.cpp
aborts the process on many of them. Knows nothing of drafting, limits or events.
"""
