"""The shared language of engine, worker, window and exports. Standard library only."""
