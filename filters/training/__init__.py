"""Train models from a user's own texts, and measure them on texts that were held back: `classifier_training` and
`kneser_ney` make the bytes of a model, `held_out` splits and measures.
"""
