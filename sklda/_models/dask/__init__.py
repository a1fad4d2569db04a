"""DaskGibbsLDA: one Gibbs chain whose documents are on the workers of a Dask cluster."""
