"""Learning methods, one file a method; files with a leading underscore are shared parts."""
