"""Write the chosen blocks of a page as text: plain text or Markdown."""
