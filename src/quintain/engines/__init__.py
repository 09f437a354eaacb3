"""What turns tokens into tokens: scripted players, people, servers, and the local engine."""
