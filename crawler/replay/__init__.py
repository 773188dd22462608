"""What is settled from the archive instead of the web. Entry point: `replay.recover`.

`replay` settles what dead workers archived. `restore` and `relink` make a lost frontier again from log and archive.
`outbox` logs what the frontier settled by itself.
"""
