"""Documents' values by the names of their columns, wherever the columns lie.

`KnownColumns` says which columns there are and finds them by name. `column_tables` names the tables of a part that hold
them, and `column_values` reads them, aligned with the rows of the part's documents.
"""
