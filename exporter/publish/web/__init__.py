"""What `--web.config.file` asks of a client, before the site answers it.

- current: the file as it is now, read again when it or what it names has changed
- handshake: a connection gets encrypted, or is told why not
- guard: a request passes, or is answered with a refusal; headers for all answers
- passwords: names and passwords against bcrypt hashes; rate: how many requests in which time
"""
