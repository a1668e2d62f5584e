"""A package of its own, since a library that the tests install has a folder of this name."""
