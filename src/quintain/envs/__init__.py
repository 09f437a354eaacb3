"""What agents act in: worlds, data tasks, tools, and other people's environments."""
