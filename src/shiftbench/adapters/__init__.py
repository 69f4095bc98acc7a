"""Methods of the library in the forms of other libraries, each of which is optional."""
