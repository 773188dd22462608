"""The bytes that cross the link. Pure. `entries` are waiting URLs, `arguments` go to the functions, `replies` come
back.
"""
