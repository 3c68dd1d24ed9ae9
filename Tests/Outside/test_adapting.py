"""A product of another kind from a copy of the rules: docs/adapting.md, played, and what a copied plugin counts."""

import os
import re
import shutil
import subprocess

from daemon import PROGRAMS, ROOT
from story import Shell, commands, says

APART = """
test "the game and its copy count alike, and apart" (function(t)
  t:event("user:1", "settings.analytics_toggled", { enabled = true })
  t:event("user:1", "session.started", { session_id = "s1" })
  for _ = 1, 10 do
    t:event("user:1", "flirt.revealed", { flirt_index = 0, scroll_duration_ms = 900, reveal_method = "scroll" })
  end
  t:event("user:1", "settings.gamification_toggled", { enabled = true })
  t:event("user:1", "points.spent", { amount = 10 })
  t:event("user:1", "data.exported", { export_format = "json" })
  t:event("device:2", "flirts.generated", { flirt_count = 3 })
  t:event("device:2", "user.authenticated", { user = "2" })
  local counted, told = { gamification = {}, shop = {} }, {}
  for _, counter in ipairs(t:counters()) do
    local name, figure = counter.name:match("^(%l+)%.(.+)$")
    if counted[name] then table.insert(counted[name], { figure, counter.labels, counter.value }) end
  end
  t:truthy(#counted.shop >= 6)
  t:equal(counted.shop, counted.gamification)
  t:equal(t:query("user:2", "shop.export"), t:query("user:2", "gamification.export"))
  t:event("user:1", "data.deleted", {})
  for _, effect in ipairs(t:effects("user:1")) do told[effect.type] = (told[effect.type] or 0) + 1 end
  t:equal({ told.gamification_flirt_revealed, told.settings_gamification_toggled }, { 10, 1 })
  t:equal({ told.settings_data_exported, told.settings_data_deleted }, { 1, 1 })
  for type in pairs(told) do t:equal(type:find("shop", 1, true), nil) end
end)
"""


def rulectl(*arguments):
    """Runs rulectl, which must succeed; returns what it prints."""
    ran = subprocess.run([PROGRAMS / "rulectl", *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_a_copy_of_the_game_counts_apart_from_it(tmp_path):
    rules = tmp_path / "rules"
    shutil.copytree(ROOT / "rules", rules)
    rulectl("new", "--from", "gamification", "shop", "--rules", rules)
    (rules / "shop/tests/apart.lua").write_text(APART)
    rulectl("test", rules / "shop", "--filter", "count alike, and apart")


def steps(page):
    """What a reader of the page does: the files that it says to save, each with its text, and the commands with what they print."""
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        language, text = match.groups()
        name = re.findall(r"`([\w./]+\.(?:json|lua))`", page[: match.start()].rstrip().split("\n\n")[-1])
        if language == "console":
            yield from commands(match.group())
        elif language != "sh":
            yield name[-1], text


STUBS = {
    "sudo": '[ "$1" != -u ] || shift 2; exec "$@"',
    "sudoedit": 'cp "${0%/*}/edited" "$1"',
    "systemctl": 'echo "systemctl $*"',
}


def packaged(folder):
    """The package's configuration, with the folders of the service inside of a folder, and nothing of its users."""
    text = (ROOT / "systemd/ruled.conf.lua").read_text()
    for path in ("/etc/ruled", "/var/lib/ruled", "/var/log/ruled", "/run/ruled"):
        (folder / path[1:]).mkdir(parents=True)
        text = text.replace(path, f"{folder}{path}")
    text = text.replace('{ "ruled-courier" }', "{}").replace('"courier"', '"daemon"')
    (folder / "etc/ruled/rules").mkdir()
    (folder / "etc/ruled/ruled.conf.lua").write_text(text)
    return text


def into_service(page, shop, system):
    """What the page's last commands print, with the shop's tables that they name in the package's configuration."""
    block = page.partition("## 7.")[2].partition("```sh\n")[2].partition("```")[0]
    text = packaged(system)
    for name in re.findall(r"`(\w+)`", block):
        table = re.compile(rf"^{name} += \{{(?:[^\n]*\}}|.*?^\}})$", re.DOTALL | re.MULTILINE)
        text = table.sub(table.search((shop / "bookshop.conf.lua").read_text()).group().replace("\\", r"\\"), text)
    relative = [path for path in re.findall(r'file *= *"(.*?)"', text) if not path.startswith("/")]
    assert relative == [], "the service may write to none of the folders that it is started in"
    stubs = system / "stubs"
    stubs.mkdir()
    (stubs / "edited").write_text(text)
    for name, script in STUBS.items():
        (stubs / name).write_text(f"#!/bin/sh\n{script}\n")
        (stubs / name).chmod(0o755)
    ran = subprocess.run(
        ["bash", "-ec", block.replace("/etc/", f"{system}/etc/")], cwd=shop, capture_output=True, text=True,
        env={**os.environ, "PATH": f"{stubs}:{PROGRAMS}:{os.environ['PATH']}"})
    return ran.stdout + ran.stderr


def test_a_bookshop_comes_of_the_page(tmp_path):
    shutil.copytree(ROOT / "rules", tmp_path / "rules")
    shell = Shell(tmp_path, {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"})
    page, played = (ROOT / "docs/adapting.md").read_text(), []
    try:
        for step, rest in steps(page):
            if isinstance(rest, str):
                (tmp_path / "var/bookshop" / step).write_text(rest)
                continue
            found = shell.run(step)
            assert says(found, rest), "\n".join([f"$ {step}", *found, "-- the page says:", *rest])
            played.append(step)
    finally:
        shell.end()
    assert len(played) > 20
    printed = into_service(page, tmp_path / "var/bookshop", tmp_path / "system")
    assert re.fullmatch(r"4 plugins load, revision \w+\nsystemctl reload ruled\n", printed), printed
