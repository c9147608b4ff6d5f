"""Support vector machines and kernel features."""
