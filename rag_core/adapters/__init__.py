"""Where the product touches the world: files, SQLite, Parquet, models."""
