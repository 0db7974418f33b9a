"""What model files say of themselves, read without loading weights and without native code."""
