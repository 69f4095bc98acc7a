"""Files on disk: zarr stores, raw files with checksums, checkpoints."""
