"""Debian packages for tests that need a program outside Python's packages."""

from __future__ import annotations

import os
import shutil
import subprocess


def install_packages(*names: str) -> None:
    """Install ``names`` on Debian if permitted; otherwise do nothing."""
    if not shutil.which("apt-get") or not (os.geteuid() == 0 or shutil.which("sudo")):
        return
    print(f"Installing {', '.join(names)} from Debian's packages ...", flush=True)
    _apt("update")
    _apt("install", "-y", "--no-install-recommends", *names)


def _apt(*arguments: str) -> None:
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    command = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
