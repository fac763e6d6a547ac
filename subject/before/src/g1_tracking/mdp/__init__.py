"""The task's terms, grouped by kind: plain functions of the environment, and the motion command they read."""
