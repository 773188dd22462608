"""`python -m pipeline` is `thresher`."""

from pipeline.cli import main

main()
