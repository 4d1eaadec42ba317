"""The rights of the user latchscope logs in as: kinds of database, the script that gives them, what a visit showed."""
