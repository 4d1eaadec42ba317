"""The rights of the user latchscope logs in as: the kinds of database, the script that gives them, what a visit showed of them."""
