"""The posterior over the number of topics."""
