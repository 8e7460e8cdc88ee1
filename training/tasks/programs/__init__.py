"""Programs that tasks are about, started as processes of their own."""
