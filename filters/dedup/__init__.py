"""Find duplicates: `signature` computes signatures of a text, `decisions` says which documents stay, and `changes` what
new documents change in these decisions. `dedup_rows` are the types of what passes between them, `zsets` how rows add
up. `screen` finds near duplicates in a stream, in constant memory and without a witness. `repeat_units` divides texts
into what may repeat, `repeat_rows` says what does, and `cuts` takes it out.
"""
