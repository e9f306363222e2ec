"""Build wheel and sdist into `dist/`, install each alone and try it: `python tools/package.py`.

Each goes into an environment of its own, without the source tree in reach, with the versions of constraints.txt.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

try:
    from tools.check_links import pages_of
    from tools.markdown_links import links, resolved
except ModuleNotFoundError:  # a script sees its own folder
    from check_links import pages_of
    from markdown_links import links, resolved

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SMOKE = Path(__file__).with_name("package_smoke.py")


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], check=True)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    lacking = [*lacking_in_wheel(names_in(wheel)), *lacking_in_sdist(names_in(sdist))]
    if lacking:
        raise SystemExit("the packages lack " + ", ".join(lacking))
    if relative := sorted({target for _, target in links(description_in(wheel)) if not target.startswith("#")}):
        raise SystemExit("links of the description lead nowhere on PyPI: " + ", ".join(relative))
    for artifact in (wheel, sdist):
        try_alone(artifact)
        print(f"{artifact.name}: installed alone, and works")


def names_in(artifact: Path) -> set[str]:
    """Paths of the files; those of an sdist without the folder that holds them."""
    if artifact.suffix == ".whl":
        return set(zipfile.ZipFile(artifact).namelist())
    with tarfile.open(artifact) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def description_in(wheel: Path) -> str:
    """What PyPI shows: the text below the headers of METADATA."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode().partition("\n\n")[2]


def lacking_in_wheel(names: set[str]) -> list[str]:
    """Files of the package that are not in it."""
    return sorted(set(source_files()) - names)


def lacking_in_sdist(names: set[str]) -> list[str]:
    """Files of the package, and what any of the project's pages links to, that are not in it."""
    linked: set[str] = set()
    for page in pages_of(ROOT):
        here = page.relative_to(ROOT).as_posix()
        linked |= {resolved(here, target)[0] for _, target in links(page.read_text(encoding="utf-8"))}
    folders = {parent.as_posix() for name in names for parent in Path(name).parents}
    return sorted(({f"src/{path}" for path in source_files()} | linked) - names - folders)


def source_files() -> list[str]:
    """All that the package is made of, data files too."""
    files = (path for path in (ROOT / "src" / "foresolve").rglob("*") if path.is_file())
    return [path.relative_to(ROOT / "src").as_posix() for path in files if "__pycache__" not in path.parts]


def try_alone(artifact: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "env"), with_pip=True)
        binaries = Path(folder, "env", "Scripts" if sys.platform == "win32" else "bin")
        python = str(binaries / "python")

        def install(what: str) -> None:
            options = ["--quiet", "--disable-pip-version-check", "--constraint", str(ROOT / "constraints.txt")]
            subprocess.run([python, "-m", "pip", "install", *options, what], check=True, cwd=folder)

        install(str(artifact))
        subprocess.run([python, "-I", str(SMOKE), "core"], check=True, cwd=folder)
        install(f"foresolve[cli,learn] @ {artifact.as_uri()}")
        subprocess.run([python, "-I", str(SMOKE), "shell"], check=True, cwd=folder)


if __name__ == "__main__":
    main()
