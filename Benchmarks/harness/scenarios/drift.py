"""The cost of an event in this build, in two fixed ones, and its change: small losses that no single change shows add up. Each build
plays the benchmark's rule and the game as its own rules have it, in turns, on the same load."""
import shutil
import subprocess

from .. import place, report, servers
from ..load import Load

# The first is the build to whose cost the game is held; the second is the last release.
FIXED = ["b86bd342", "5018dc80"]
OLD_LIBRARY = ("libmicrohttpd", "libmicrohttpd-dev")  # for the first one alone
SHAPE = {"connections": 8, "pipeline": 64}
WITHOUT_JOURNAL = 'journal = { keep = "0" }'
RULES = {
  "the benchmark's rule": ["Benchmarks/rules/streaks"],
  "the shipped game": ["rules/gamification", "rules/lib"],
}


def built(commit, say):
  """The checkout of a commit with its program built: made once, and kept for the next run."""
  checkout = place.BUILD / "fixed" / commit
  program = checkout / ".build" / "release" / "ruled"
  if program.exists():
    return checkout, program
  library, package = OLD_LIBRARY
  if subprocess.run(["pkg-config", "--exists", library]).returncode:
    place.install({package: package})
  say(f"building ruled of {commit}, once; this takes a few minutes")
  shutil.rmtree(checkout, ignore_errors=True)
  checkout.mkdir(parents=True)
  archive = subprocess.run(["git", "-C", place.CHECKOUT, "archive", commit], capture_output=True)
  if archive.returncode:
    place.fail(f"git archive {commit}: {archive.stderr.decode().strip()}; a shallow clone lacks it: git fetch --unshallow")
  subprocess.run(["tar", "-x", "-C", checkout], input=archive.stdout, check=True)
  command = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--product", "ruled"]
  done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
  if done.returncode:
    place.fail(f"{commit} does not build:\n{done.stdout[-3000:]}")
  return checkout, program


def contenders(say):
  """Name, checkout, program and settings of each build; the first fixed one is from before the journal."""
  found = []
  for commit in FIXED:
    checkout, program = built(commit, say)
    settings = WITHOUT_JOURNAL if (checkout / "Sources" / "RuledJournal").exists() else ""
    found.append((commit, checkout, program, settings))
  return found + [
    ("this build", place.CHECKOUT, place.RULED, WITHOUT_JOURNAL),
    ("this build, with the journal", place.CHECKOUT, place.RULED, ""),
  ]


def run(arguments, folder, say):
  load = Load(arguments.seconds, patience=arguments.patience)
  builds = contenders(say)
  results = {rules: {name: [] for name, *_ in builds} for rules in RULES}
  for number in range(arguments.rounds):
    for rules, plugins in RULES.items():
      for name, checkout, program, settings in builds:
        with servers.Ruled(name, folder / "drift", "commit", plugins=[checkout / plugin for plugin in plugins],
                           program=program, settings=settings) as server:
          load.fill(server, arguments.subjects)
          figures = load.measure(server, subjects=arguments.subjects, **SHAPE)
        results[rules][name].append({"drift": figures})
        say(f"round {number + 1} {rules}, {name}: {figures['throughput']:,}/s, cpu {figures['server_cpu_us']:.1f} µs, "
            f"others {figures['other_cpus']:.2f}")
  return "Drift", table(results), results


def table(results):
  rows = ["| rule | build | events/s | processor time of an event | of the first (lowest to highest; quiet rounds) | throughput, of the first |",
          "|---|---|--:|--:|--:|--:|"]
  for rules, rounds in results.items():
    for name in rounds:
      spread = lambda figure: report.spread(rounds, name, "drift", figure, FIXED[0])
      rows.append(f"| {rules} | {name} | {report.median(rounds[name], 'drift', 'throughput'):,.0f} | "
                  f"{report.median(rounds[name], 'drift', 'server_cpu_us'):.2f} µs | {spread('server_cpu_us')} | {spread('throughput')} |")
  return rows + ["", f"{SHAPE['connections']} connections with {SHAPE['pipeline']} in flight each, synced before the reply, the journal off "
                     "where nothing else is said, in turns. The game is each build's own."]
