"""Fits that are saved while they run: the files of a folder, and what is saved in them."""
