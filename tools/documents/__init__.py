"""Read documents in a sandboxed child process and cut them into passages."""
