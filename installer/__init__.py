"""Getting Deskhand from a fresh checkout to a running program. Standard library only, outside of the program itself."""
