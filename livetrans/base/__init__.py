"""What every other folder builds on: time, errors, files, languages and text."""
