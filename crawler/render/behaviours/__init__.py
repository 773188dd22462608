"""What the crawler does in a page that is done, as a reader would: it scrolls to the end, so that the rest loads.

`behaviour_run` decides what is done and when to stop, `page_script` does it in the page.
"""
