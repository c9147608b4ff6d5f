"""Made-up texts whose truth is known: grammars, sentences about entities."""
