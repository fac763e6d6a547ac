"""Room of the result bundle: a finished campaign's data goes in, a sealed, signed, checkable folder comes out.

`seal` and `sign` make bundles and trust nothing; `read` and `verify` open bundles from strangers and write nothing.
"""
