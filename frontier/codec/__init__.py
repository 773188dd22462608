"""What crosses the link, as bytes. Pure. `entries` are waiting URLs, `arguments` go to the functions, `replies` come back."""
