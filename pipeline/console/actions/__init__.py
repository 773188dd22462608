"""What an operator can do in the console: `action_requests` has the actions, `action_runner` does them, and
`action_log` keeps who did what.
"""
