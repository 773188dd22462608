"""Train models on a user's own texts: `text_sources` reads the texts, `model_training` trains and measures,
`model_files` writes the model and its description.
"""
