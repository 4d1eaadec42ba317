"""Studies: the mathematics of latches on tables that you supply. No I/O: text in, a result out."""
