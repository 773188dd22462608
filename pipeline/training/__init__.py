"""Train models on a user's own texts: `text_sources` reads the texts, `model_training` trains, measures and stores."""
