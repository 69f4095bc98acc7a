"""What is said of runs: metrics, summaries of studies, published numbers."""
