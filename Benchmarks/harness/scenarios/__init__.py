"""What else was promised: each module has `run(arguments, folder, say)` → (title, lines of Markdown, raw figures)."""
ALL = {}
