# Everything is done by installer/bootstrap.py, which also works where there is no make.
#
#   make run               set everything up and start Deskhand
#   make run TASK="..."    the same, with a task to begin with
#   make test              set everything up and run every check

PYTHON ?= python3

# The task goes by the environment, word for word: quotes, $ and spaces in it mean nothing to make or to the shell.
unexport TASK
export DESKHAND_TASK = $(value TASK)

.PHONY: run test
.DEFAULT_GOAL := run

run:
	@$(PYTHON) installer/bootstrap.py run "$$DESKHAND_TASK"

test:
	@$(PYTHON) installer/bootstrap.py test
