"""Write install.txt, which pip installs a release from, and SHA256SUMS: `python .ci/manifest.py URL FOLDER`.

URL is where the files of FOLDER will be. A machine that no wheel of llama-cpp-python is for compiles it.
"""

from __future__ import annotations

import shutil
import sys
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYSTEMS = {"manylinux": "linux", "macosx": "darwin"}


def requirement(wheel: Path, url: str) -> str:
    """Return the line that installs this wheel from there on the machines that it is for."""
    name, *_, platform = wheel.stem.split("-")
    line = f"{name.replace('_', '-')} @ {url}/{wheel.name}#sha256={digest(wheel)}"
    if platform == "any":
        return line
    system = next(system for tag, system in SYSTEMS.items() if platform.startswith(tag))
    machine = next(machine for machine in ("x86_64", "aarch64", "arm64") if platform.endswith(machine))
    return f"{line} ; sys_platform == '{system}' and platform_machine == '{machine}'"


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def main() -> None:
    url, folder = sys.argv[1].rstrip("/"), Path(sys.argv[2])
    shutil.copy(ROOT / "constraints.txt", folder)
    lines = [f"-c {url}/constraints.txt", *(requirement(wheel, url) for wheel in sorted(folder.glob("*.whl")))]
    (folder / "install.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sums = (f"{digest(path)}  {path.name}\n" for path in sorted(folder.iterdir()) if path.name != "SHA256SUMS")
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    main()
