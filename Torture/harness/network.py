"""A network for nodes on this machine: a namespace for each on a bridge, and ways between any two that can be cut, in one direction too."""

import hashlib
import os
import subprocess

# Nobody has this address, so packets to it are lost.
NOWHERE = "02:00:00:00:00:01"


def ip(*words, check=True):
  subprocess.run(["ip", *map(str, words)], check=check, capture_output=True)


def is_allowed():
  """Whether this user may make networks on this machine, and mount disks."""
  if os.getuid() != 0:
    return False
  attempt = "ip link add try type bridge && mount -t tmpfs none /mnt"
  return subprocess.run(["unshare", "--net", "--mount", "sh", "-c", attempt], capture_output=True).returncode == 0


class Network:
  """Places by name, each with an address; the place "" is this machine itself."""

  def __init__(self, folder, names):
    digest = hashlib.sha256(str(folder).encode()).digest()
    self.tag = f"n{digest.hex()[:5]}"
    network = f"10.{200 + digest[3] % 50}.{digest[4]}"
    self.addresses = {"": f"{network}.254", **{name: f"{network}.{number}" for number, name in enumerate(names, 1)}}
    ip("link", "add", self.tag, "type", "bridge")
    ip("address", "add", f"{self.addresses['']}/24", "dev", self.tag)
    ip("link", "set", self.tag, "up")
    for name in names:
      space = self.space(name)
      ip("netns", "add", space)
      ip("link", "add", space, "type", "veth", "peer", "name", "eth0", "netns", space)
      ip("link", "set", space, "master", self.tag, "up")
      ip("-n", space, "address", "add", f"{self.addresses[name]}/24", "dev", "eth0")
      ip("-n", space, "link", "set", "eth0", "up")
      ip("-n", space, "link", "set", "lo", "up")

  def space(self, name):
    return f"{self.tag}-{name}"

  def prefix(self, name):
    """The words before a command that start it at a place."""
    return ["ip", "netns", "exec", self.space(name)]

  def way(self, sender, receiver):
    """The arguments of `ip` for the sender's knowledge of the receiver."""
    space, device = ([], self.tag) if sender == "" else (["-n", self.space(sender)], "eth0")
    return space, [self.addresses[receiver], "dev", device]

  def cut(self, sender, receiver):
    """Drops silently all packets from one place to another."""
    space, target = self.way(sender, receiver)
    ip(*space, "neigh", "replace", *target, "lladdr", NOWHERE, "nud", "permanent")

  def heal(self, sender, receiver):
    space, target = self.way(sender, receiver)
    ip(*space, "neigh", "delete", *target, check=False)

  def remove(self):
    for name in self.addresses:
      if name:
        ip("netns", "delete", self.space(name), check=False)
        ip("link", "delete", self.space(name), check=False)
    ip("link", "delete", self.tag, check=False)
