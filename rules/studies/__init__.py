"""Studies: the mathematics of latches on tables that a person supplies. No I/O: text in, a result out."""
