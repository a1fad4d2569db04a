"""One chain whose documents are on the workers of a Dask cluster."""
