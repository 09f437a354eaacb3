"""How a task is played: one async function from (task, cast, ticket) to a group of trajectories."""
