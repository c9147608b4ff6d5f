"""Text as tokens: characters, words, bytes and byte pairs; images as patches."""
