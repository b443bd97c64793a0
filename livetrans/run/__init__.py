"""A run: a listening and a translating side, the threads that drive them, and the sinks that receive every event."""
