"""Further goals: each module has `run(arguments, folder, say)` → (title, lines of Markdown, raw figures)."""
from . import many_plugins, many_subjects, reload

ALL = {"many-plugins": many_plugins, "many-subjects": many_subjects, "reload": reload}
