"""The engine: checks cut into tasks, handed to workers, journalled, put together again."""
