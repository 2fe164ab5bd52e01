"""What the questions and answers of a chat were like over some days."""
