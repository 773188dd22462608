"""What the markup of a page refers to: its links (`links`), and what it needs besides itself (`page_requisites`,
`css_references`). Read by regular expressions in time proportional to the text (`tags`), and not from a tree.
"""
