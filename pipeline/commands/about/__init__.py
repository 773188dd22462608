"""What a user asks the program about itself: help on a topic (`help_command`), its versions (`version_option`), and the
names that a shell completes (`completion`).

Nothing here needs a project, a server or a network.
"""
