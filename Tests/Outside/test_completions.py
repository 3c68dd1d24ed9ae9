"""The completions of bash, zsh and fish, asked of the real shells as a person does with the tab key."""

import os
import pty
import select
import subprocess

import pytest

from daemon import PROGRAMS, ROOT

PLUGIN = """\
plugin { name = "shop" }
event("paid", { amount = "integer", note = "string?" })
rule "sale" { on = { "paid", "left" }, run = function() end }
"""
# Names that a shell would run, split, expand or take for something else if it read them.
HOSTILE = ["a$(touch ran)", "a`touch ran`", "b;touch ran", "c 'd' \"e\"", "f|g&h>i", "~", "$HOME", "{x,y}", "back\\slash", "-rf"]
# Prints each candidate of one completion between two lines of a zero byte; compadd is what every completion of zsh ends in.
ZSH = r"""
PROMPT=; stty -echo
autoload -Uz compinit && compinit -u -D
mark() { print -r -- $'\0' }
compprefuncs=(mark)
comppostfuncs=(mark exit)
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
compadd() {
  [[ ${@[1,(i)(-|--)]} == *-[OAD]* ]] && { builtin compadd "$@"; return }
  local -a hits
  builtin compadd -A hits "$@"
  (( $#hits )) && print -rl -- $IPREFIX$^hits
  builtin compadd "$@"
}
print ready
"""
# Writes the candidates of one completion to the file $found, and ends the shell.
BASH = """\
PS1=; stty -echo
source "$script"
[[ $(complete -p {0}) =~ -F\\ ([^ ]+) ]] && completer=${{BASH_REMATCH[1]}}
tell() {{ "$completer" "$@"; printf '%s\\n' "${{COMPREPLY[@]}}" >"$found"; echo "done"; exit; }}
complete -F tell {0}
echo ready
"""


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, words, folder, **variables):
        self.text = b""
        self.master, slave = pty.openpty()
        environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TERM": "xterm", **variables}
        self.process = subprocess.Popen(
            words, cwd=folder, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, end):
        """What the shell shows until `end` is among it."""
        while end not in self.text:
            ready, _, _ = select.select([self.master], [], [], 180)
            assert ready, f"nothing more after {self.text!r}"
            self.text += os.read(self.master, 65536)
        before, _, self.text = self.text.partition(end)
        return before.decode()

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


class Shell:
    """Completes lines in one shell, in a folder with rules and a file."""

    def __init__(self, name, path, folder):
        self.name, self.path, self.folder = name, path, folder
        self.work = folder / "work"
        (self.work / "rules" / "shop").mkdir(parents=True)
        (self.work / "rules" / "shop" / "plugin.lua").write_text(PLUGIN)
        (self.work / "events.json").write_text("{}")

    def script(self, program):
        """The completions as they are installed: those of rulectl are written by itself."""
        if program == "rulectl":
            return subprocess.run([PROGRAMS / "rulectl", "completions", self.name], capture_output=True, check=True).stdout
        return (ROOT / "packaging" / "completions" / f"{program}.{self.name}").read_bytes()

    def complete(self, line):
        """The candidates at the end of a line."""
        program = line.split()[0]
        file = self.folder / f"_{program}"
        file.write_bytes(self.script(program))
        found = getattr(self, self.name)(line, program, file)
        return {word.strip().rstrip("/") for word in found if word.strip()}

    def fish(self, line, program, file):
        command = 'set -p PATH $programs; source $script; complete -C "$line"'
        environment = {**os.environ, "programs": str(PROGRAMS), "script": str(file), "line": line}
        run = subprocess.run(
            [self.path, "--no-config", "-c", command], cwd=self.work, capture_output=True, text=True, timeout=180,
            env=environment,
        )
        assert run.stderr == ""
        return [row.split("\t")[0] for row in run.stdout.splitlines()]

    def zsh(self, line, program, file):
        setup = self.folder / "setup.zsh"
        setup.write_text(f"fpath=({self.folder} $fpath)\n{ZSH}")
        terminal = Terminal([self.path, "-f", "-i"], self.work)
        try:
            terminal.type(f"source {setup}\n")
            terminal.until(b"ready\r\n")
            terminal.type(line + "\t")
            terminal.until(b"\0")
            return terminal.until(b"\0").splitlines()
        finally:
            terminal.end()

    def bash(self, line, program, file):
        setup = self.folder / "setup.bash"
        setup.write_text(BASH.format(program))
        found = self.folder / "found"
        terminal = Terminal(
            [self.path, "--norc", "--noprofile", "-i"], self.work, script=str(file), found=str(found)
        )
        try:
            terminal.type(f"source {setup}\n")
            terminal.until(b"ready\r\n")
            terminal.type(line + "\t")
            terminal.until(b"done")
        finally:
            terminal.end()
        words = found.read_text().splitlines()
        # bash replaces what follows the '=', fish and zsh the whole word.
        word = line.rpartition(" ")[2]
        return [word[: word.index("=") + 1] + other for other in words] if word.startswith("--") and "=" in word else words


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request, tool, tmp_path):
    return Shell(request.param, tool(request.param), tmp_path)


CASES = [
    ("rulectl ev", {"event"}),
    ("rulectl help clo", {"clock"}),
    ("rulectl --socket x par", {"parked"}),
    ("rulectl --socket=x par", {"parked"}),
    ("rulectl --socket ev", {"events.json"}),
    ("rulectl parked --pl", {"--plugin"}),
    ("rulectl completions ", {"bash", "zsh", "fish"}),
    ("rulectl completions z", {"zsh"}),
    ("rulectl health ", set()),
    ("rulectl explain ev", {"events.json"}),
    ("rulectl new --rules ", {"rules"}),
    ("rulectl event --data ", set()),
    ("rulectl event --file ev", {"events.json"}),
    ("rulectl event --file=ev", {"--file=events.json"}),
    ("rulectl event ", {"paid", "left"}),
    ("rulectl event pa", {"paid"}),
    ("rulectl event --dry-run --id x pa", {"paid"}),
    ("rulectl --socket x event pa", {"paid"}),
    ("rulectl event paid ", set()),
    ("rulectl event paid user:1 ", {"amount=", "note="}),
    ("rulectl event paid user:1 amount=1 ", {"note="}),
    ("rulectl event check user:1 --js", {"--json"}),
    ("ruled --che", {"--check"}),
    ("ruled --config ev", {"events.json"}),
    ("ruled --rules ", {"rules"}),
    ("ruled --store m", {"memory:"}),
    ("ruled-courier --he", {"--help"}),
]


@pytest.mark.parametrize("line, expected", CASES, ids=[line for line, _ in CASES])
def test_the_tab_key_completes(shell, line, expected):
    assert shell.complete(line) == expected


def test_every_command_is_offered_and_explained(shell):
    text = subprocess.run([PROGRAMS / "rulectl", "--help"], capture_output=True, text=True, check=True).stdout
    section = text[text.index("Commands"):].split("\n\n")[0] if "Commands" in text else text
    commands = {row.split()[0] for row in section.splitlines() if row.startswith("  ") and row.strip()}
    found = shell.complete("rulectl ")
    assert {"event", "check", "help"} <= found
    assert {word for word in found if not word.startswith("-")} <= commands | {"help"}


def test_each_command_completes_its_own_options(shell):
    assert "--json" in shell.complete("rulectl health --")
    assert "--fix" in shell.complete("rulectl check --")
    assert "--fix" not in shell.complete("rulectl health --")
    assert "--dry-run" not in shell.complete("rulectl help event --")


def lua(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_names_from_rules_are_one_word_each_and_never_run(shell):
    types = ", ".join(lua(name) for name in HOSTILE)
    plugin = shell.work / "rules" / "shop" / "plugin.lua"
    plugin.write_text(f'{PLUGIN}\nrule "hostile" {{ on = {{ {types} }}, run = function() end }}\n')
    found = shell.complete("rulectl event ")
    if shell.name != "fish":  # fish shows the names; bash and zsh what they put on the command line, which they must read as the name
        command = "".join(f"printf '%s\\n' {word}\n" for word in found)
        read = subprocess.run([shell.path, "-c", command], cwd=shell.work, capture_output=True, text=True, check=True)
        found = set(read.stdout.splitlines())
    assert found == {"paid", "left", *HOSTILE}
    shell.complete("rulectl event a$(touch ran")
    shell.complete("rulectl event paid user:1 amount=$(touch ran) ")
    assert not (shell.work / "ran").exists()


def test_members_are_offered_after_any_type_as_the_shell_quotes_it(shell):
    quoted = {name: shell_quoted(name) for name in HOSTILE + ["a:b", "x=y"] if not name.startswith("-")}
    described = "".join(f'event({lua(name)}, {{ m{index} = "integer" }})\n' for index, name in enumerate(quoted))
    (shell.work / "rules" / "shop" / "plugin.lua").write_text(f'plugin {{ name = "shop" }}\n{described}')
    for index, word in enumerate(quoted.values()):
        assert shell.complete(f"rulectl event {word} user:1 ") == {f"m{index}="}, word
    assert not (shell.work / "ran").exists()


def shell_quoted(name):
    """A word for bash, zsh and fish: with a backslash before each character that may mean something."""
    return "".join(letter if letter.isalnum() else "\\" + letter for letter in name)


def test_what_loads_is_offered_while_other_rules_do_not(shell):
    plugin = shell.work / "rules" / "shop" / "plugin.lua"
    plugin.write_text(f'{PLUGIN}\nrule "wrong" {{ on = {{ "fine", "a\\27b" }}, run = function() end }}\n')
    (shell.work / "rules" / "other").mkdir()
    (shell.work / "rules" / "other" / "plugin.lua").write_text('plugin { name = "other" }\nevent("known", {})\nerror("no")\n')
    assert shell.complete("rulectl event ") == {"paid", "left", "fine", "known"}


def test_names_of_files_are_listed_and_never_run(shell):
    for name in ["$(touch ran)", "`touch ran`", "a b", "a;b", "*", "'q'", "two\nlines"]:
        (shell.work / name).write_text("")
    found = shell.complete("rulectl explain ")
    assert {"events.json", "rules"} <= found
    if shell.name == "bash":  # bash's own list breaks names at their line ends
        assert "two" not in found and "lines" not in found
    assert not (shell.work / "ran").exists()
