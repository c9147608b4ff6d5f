"""Images with boxes: synthetic scenes whose truth is known, and files that hold annotations."""
