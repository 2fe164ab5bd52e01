"""One question of one session, answered from the files of its knowledge base."""
