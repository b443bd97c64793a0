"""Session file, exports (SRT, VTT, text, JSON lines), plain and JSON-line output."""
