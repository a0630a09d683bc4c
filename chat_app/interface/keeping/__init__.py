"""Storage of questions and answers: before, during and after a turn, and after a crash."""
