"""The policy behind an OpenAI-compatible endpoint that writes down every token: for agents that somebody already has."""
