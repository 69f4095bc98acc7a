"""Running, scoring, theory, figures and tables."""
