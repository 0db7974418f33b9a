"""llama.cpp's own programs as peers: built from the source of the installed release and linked to
its installed libraries, so that both sides compute with the very same kernels.

Only the programs' own few hundred lines are compiled. Source and programs are kept in the cache
folder. Knows nothing of our engine.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from specviz.preferences import cache_folder

DISTRIBUTION = "llama-cpp-python"
IN_SOURCE = "vendor/llama.cpp"
WANTED = ("include/", "ggml/include/", "common/", "vendor/", "examples/speculative-simple/")
LIBRARIES = ("llama-common", "llama", "ggml", "ggml-base")
STEP = r"accepted (\d+)/(\d+) draft tokens, the last target token is: \((\d+)\)"
MAX_SECONDS = 900


class PeerError(Exception):
    """The peer cannot be built or run; the message says why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What both sides are told. `p_min` of None: no draft by a model.

    `ngram`: drafts are copied by ngram-mod, with `n_match`, `n_min` and `n_max`.
    """

    target: Path
    draft: Path
    prompt: str
    n_predict: int
    n_ctx: int
    n_threads: int
    repack: bool
    n_max: int
    p_min: float | None
    ngram: tuple[int, int, int] | None = None

    @property
    def drafts(self) -> bool:
        """Whether anything is drafted."""
        return self.p_min is not None or self.ngram is not None

    @property
    def longest_draft(self) -> int:
        """Draft tokens of a step at most."""
        return self.ngram[2] if self.ngram is not None else self.n_max


@dataclass(frozen=True, slots=True)
class PeerRun:
    """What a program reported. `steps`: (accepted, drafted, last token id) of each verify step,
    only from a run that was asked to tell them."""

    n_prompt: int
    n_decoded: int
    seconds: float
    text: str
    n_drafted: int = 0
    n_accepted: int = 0
    steps: tuple[tuple[int, int, int], ...] = ()

    @property
    def tokens_per_second(self) -> float:
        return self.n_decoded / self.seconds


@dataclass(frozen=True, slots=True)
class Peer:
    """The two programs, and where their libraries are."""

    speculative: Path
    plain: Path
    lib_folders: tuple[Path, ...]

    def run(self, settings: Settings, tell_steps: bool = False) -> PeerRun:
        """Run the program that fits the settings. `tell_steps` makes it slow."""
        if not settings.drafts:
            return self._run_plain(settings)
        return self._run_speculative(settings, tell_steps)

    def _run_plain(self, settings: Settings) -> PeerRun:
        command = [
            self.plain,
            settings.target,
            settings.prompt,
            settings.n_predict,
            settings.n_threads,
            settings.n_ctx,
            int(settings.repack),
        ]
        output, figures = self._call([str(part) for part in command])
        return _read_figures(figures, output)

    def _run_speculative(self, settings: Settings, tell_steps: bool) -> PeerRun:
        command = [
            # without a draft model the program does not run, even where none is asked
            *(str(self.speculative), "-m", str(settings.target), "-md", str(settings.draft)),
            *_drafting(settings),
            *("-n", str(settings.n_predict), "--temp", "0"),
            *("-c", str(settings.n_ctx), "-fa", "on", "-fit", "off"),
            *("-t", str(settings.n_threads), "-td", str(settings.n_threads)),
            *("--no-escape", "-p", settings.prompt),
        ]
        command.append("--repack" if settings.repack else "--no-repack")
        if tell_steps:
            command += ["-lv", "5"]
        output, figures = self._call(command)
        # standard output begins with the prompt, special tokens spelled out
        _, found, answer = output.partition(settings.prompt)
        if not found:
            raise PeerError("llama-speculative-simple saw another prompt than it was given.")
        return _read_figures(figures, answer)

    def _call(self, command: list[str]) -> tuple[str, str]:
        path = os.pathsep.join(map(str, self.lib_folders))
        environment = {**os.environ, "LD_LIBRARY_PATH": path, "DYLD_LIBRARY_PATH": path}
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=MAX_SECONDS,
        )
        if done.returncode != 0:
            tail = "\n".join(done.stderr.splitlines()[-5:])
            raise PeerError(f"{Path(command[0]).name} ended with {done.returncode}:\n{tail}")
        return done.stdout, done.stderr


def _drafting(settings: Settings) -> list[str]:
    if settings.ngram is not None:
        n_match, n_min, n_max = map(str, settings.ngram)
        return [
            *("--spec-type", "ngram-mod", "--spec-ngram-mod-n-match", n_match),
            *("--spec-ngram-mod-n-min", n_min, "--spec-ngram-mod-n-max", n_max),
        ]
    return [
        *("--spec-type", "draft-simple", "--spec-draft-n-max", str(settings.n_max)),
        *("--spec-draft-p-min", str(settings.p_min)),
    ]


def _read_figures(figures: str, text: str) -> PeerRun:
    def number(pattern: str) -> str:
        found = re.search(pattern, figures)
        if not found:
            raise PeerError(f"The peer's report has no line like: {pattern}")
        return found.group(1)

    drafted = "n_drafted" in figures
    steps = re.findall(STEP, figures)
    return PeerRun(
        n_prompt=int(number(r"encoded +(\d+) tokens")),
        n_decoded=int(number(r"decoded +(\d+) tokens")),
        seconds=float(number(r"decoded +\d+ tokens in +([\d.]+) seconds")),
        text=text.rstrip("\n"),
        n_drafted=int(number(r"n_drafted = (\d+)")) if drafted else 0,
        n_accepted=int(number(r"n_accept  = (\d+)")) if drafted else 0,
        steps=tuple((int(a), int(b), int(c)) for a, b, c in steps),
    )


# Building ----------------------------------------------------------------------------------------
def build_peer() -> Peer:
    """The peer of the installed llama-cpp-python; takes a minute the first time."""
    if sys.platform == "win32":
        raise PeerError("The peer is built on Linux and macOS only.")
    folders = _lib_folders()
    files = _libraries(folders)
    version = importlib.metadata.version(DISTRIBUTION)
    folder = cache_folder() / "benchmarks" / f"llama-{version}-{_fingerprint(files)}"
    source = _source(version, folder)
    own = Path(__file__).with_name("plain_greedy.cpp")
    example = source / "examples/speculative-simple/speculative-simple.cpp"
    return Peer(
        speculative=_compile(example, source, files, folder / "speculative-simple"),
        plain=_compile(own, source, files, folder / "plain-greedy"),
        lib_folders=folders,
    )


def _lib_folders() -> tuple[Path, ...]:
    """First the libraries that our engine maps, then the installed rest of llama.cpp."""
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        raise PeerError("llama-cpp-python is not installed.")
    package = Path(spec.origin).parent
    return package / "lib", package.parent / "lib"


def _libraries(folders: tuple[Path, ...]) -> list[Path]:
    ending = "dylib" if sys.platform == "darwin" else "so"
    found = []
    for name in LIBRARIES:
        paths = [folder / f"lib{name}.{ending}" for folder in folders]
        present = [path for path in paths if path.exists()]
        if not present:
            raise PeerError(
                f"This llama-cpp-python came without lib{name}. It has to be built from source, "
                "as packaging/bootstrap.py does."
            )
        found.append(present[0])
    return found


def _fingerprint(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _source(version: str, folder: Path) -> Path:
    """llama.cpp's source as the release carries it; only what the programs need is unpacked."""
    source = folder / "source"
    if source.is_dir():
        return source
    folder.mkdir(parents=True, exist_ok=True)
    print(f"Downloading the source of {DISTRIBUTION} {version}")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--no-binary", ":all:", "-d", str(folder), f"{DISTRIBUTION}=={version}"]
    if subprocess.run(command).returncode != 0:
        raise PeerError(f"The source of {DISTRIBUTION} {version} cannot be downloaded.")
    archive = next(folder.glob("*.tar.gz"))
    partial = folder / "source.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(archive) as bundle:
        for member in bundle:
            _, _, name = member.name.partition(f"{IN_SOURCE}/")
            if member.isfile() and name.startswith(WANTED):
                member.name = name
                bundle.extract(member, partial, filter="data")
    archive.unlink()
    partial.replace(source)
    return source


def _compile(main: Path, source: Path, libraries: list[Path], program: Path) -> Path:
    if program.exists() and program.stat().st_mtime >= main.stat().st_mtime:
        return program
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if not compiler:
        raise PeerError("There is no C++ compiler.")
    print(f"Compiling {main.name}")
    includes = [f"-I{source / name}" for name in ("include", "ggml/include", "common", "vendor")]
    # the installed libraries do not say where their sisters are; the environment tells at the start
    unresolved = ["-Wl,--allow-shlib-undefined"] if sys.platform != "darwin" else []
    command = [compiler, "-std=c++17", "-O3", "-DNDEBUG", *includes, str(main), "-o", str(program)]
    command += [*map(str, libraries), *unresolved, "-pthread"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode != 0:
        raise PeerError(f"{main.name} cannot be compiled:\n{done.stderr[-2000:]}")
    return program
