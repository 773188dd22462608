"""`thresher train`: models from a user's own texts. `train_command` has the commands, `text_sources` reads the texts,
`model_training` trains, measures and stores a model.
"""
