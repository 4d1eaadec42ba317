"""The exam: questions with a key, a scorer for the answers of any tool, rivals. See docs/exam.md.

It knows nothing of rules/ and service/: our own answers come through the installed command line.
"""
