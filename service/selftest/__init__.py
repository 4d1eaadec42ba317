"""`latchscope selftest`: makes known problems on a disposable database, and checks that latchscope names them."""
