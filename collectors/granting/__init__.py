"""The rights of the user latchscope logs in as: kinds of database, the grants script, what one poll found."""
