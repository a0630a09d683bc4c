"""Development scripts, which are no part of the installed app."""
