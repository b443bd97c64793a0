"""Erasure, acceptance, speed and lag: pure functions of counts, and the monitor that folds events into a snapshot."""
