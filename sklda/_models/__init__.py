"""The estimators: what they share, and a file or a folder for each."""
