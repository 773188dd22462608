"""robots.txt: the rules of a file (`robots_rules`), and how a worker gets and keeps them (`robots_txt`)."""
