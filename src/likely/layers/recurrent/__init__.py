"""Recurrent layers: a state that is carried along a sequence."""
