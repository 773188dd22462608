"""Standards that the standard library reads differently from one Python to another: addresses and moments."""
