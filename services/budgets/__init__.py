"""What one member and one group may ask of the bot, and who pays for a call of the model."""
