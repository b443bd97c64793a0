"""From transcripts to captions: the translator, coalescing, and the presenter's mask-k."""
