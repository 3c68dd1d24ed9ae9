"""Further goals: each module has `run(arguments, folder, say)` → (title, lines of Markdown, raw figures)."""
from . import boards, cluster, drift, journal, many_plugins, many_subjects, reload, trials

ALL = {"boards": boards, "drift": drift, "journal": journal, "many-plugins": many_plugins, "many-subjects": many_subjects,
       "reload": reload, "trials": trials, "cluster": cluster}
