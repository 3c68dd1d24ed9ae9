"""Plays the commands of a page: the lines with `$` of its blocks of console text, with what they must print below each.

usage: story.py PAGE FOLDER: plays the page in a folder, and prints the commands with what they print now
"""

import pathlib
import re
import socket
import subprocess
import sys
import time

END = "== the command has ended with"


def commands(page):
    """The commands of the page's console blocks, each with the lines that follow it."""
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command.split("  #")[0].rstrip(), lines


def masked(line):
    """A line without what differs from run to run: how long something took, and names that are made of the rules' content."""
    line = re.sub(r"\b[0-9a-f]{16}\b", "REVISION", line.rstrip())
    # Which subjects a rollout chooses depends on the revision.
    if line.startswith(("decided ", "the live rules: ")):
        line = re.sub(r"\d+ (event|subject)s?", r"N \1s", line)
    return re.sub(r"[\d,.]+ (µs|ms|s)\b", "TIME", line)


def squeezed(line):
    """A masked line with one space where columns have several, as their width depends on what is masked."""
    return re.sub(r" +", " ", masked(line))


def says(found, expected):
    """Whether lines are as expected; `…` alone stands for any lines, and at the end of a line for the rest of it."""
    if not expected:
        return not found
    head, *rest = expected
    if head.strip() == "…":
        return any(says(found[count:], rest) for count in range(len(found) + 1))
    if not found:
        return False
    wanted, line = squeezed(head), squeezed(found[0])
    same = line.startswith(wanted[:-1]) if wanted.endswith("…") else line == wanted
    return same and says(found[1:], rest)


def listens(path):
    """Whether somebody listens on a socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


class Shell:
    """A shell that runs one command after the other, as somebody who reads the page would."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.process = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment)

    def run(self, command):
        """Runs a command; returns what it prints, with the last line `exit N` if it fails."""
        self.process.stdin.write(f"{command}\necho; echo {END} $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                break
            lines.append(line.rstrip("\n"))
        else:
            raise AssertionError(f"the shell has ended: {lines}")
        if command.endswith("&"):
            self.wait_for_socket()
        # The empty line before the end separates it from output without a line feed.
        return lines[:-1] if lines[-1:] == [""] else lines

    def wait_for_socket(self):
        """Waits until the daemon that was started listens in the shell's folder."""
        end = time.monotonic() + 180
        while not any(map(listens, pathlib.Path(f"/proc/{self.process.pid}/cwd").glob("*.sock"))):
            assert time.monotonic() < end, "the daemon does not listen"
            time.sleep(0.02)

    def end(self):
        """Ends the shell, and what runs in its background."""
        self.process.stdin.write("kill $(jobs -p) 2>/dev/null; wait\n")
        self.process.stdin.close()
        self.process.wait(180)


def main():
    import os

    shell = Shell(pathlib.Path(sys.argv[2]), dict(os.environ))
    try:
        for command, _ in commands(pathlib.Path(sys.argv[1]).read_text()):
            started = time.monotonic()
            print("$ " + command, *shell.run(command), sep="\n", flush=True)
            print(f"{time.monotonic() - started:.1f} s  {command}", file=sys.stderr)
    finally:
        shell.end()


if __name__ == "__main__":
    main()
