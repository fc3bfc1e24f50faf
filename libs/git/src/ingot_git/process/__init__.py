"""Runs git: command lines, environment, and limits of time, CPU and memory."""
