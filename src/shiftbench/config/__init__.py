"""What is to be done, known before anything runs: config, components, specs. No TensorFlow."""
