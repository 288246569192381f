"""Coverage-guided fuzzing of the readers of .ring files and checkpoint slots; needs ``pip install atheris``.

    python -m soak.fuzz {ring,slot} CORPUS [options of libFuzzer, e.g. -max_total_time=600]

Sound files are put into the corpus first. Whatever is not a FormatError ends the run, with the input that did it.
"""

import sys
import tempfile
from pathlib import Path


def main():
    import atheris

    with atheris.instrument_imports(include=["ringlet.store"]):
        from ringlet.errors import FormatError
        from ringlet.store.ringfile import load_ring
        from ringlet.store.slots import read_slot

    from checkpointed_fits import SLOTS, begun
    from soak.pool import in_memory
    from soak.samples import write_samples

    kind, corpus = sys.argv[1], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    read = load_ring if kind == "ring" else read_slot
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        place = Path(folder)
        sound = write_samples("ring", place / "sound") if kind == "ring" else [begun(place / "fit") / SLOTS[0]]
        for path in sound:
            (corpus / path.name).write_bytes(path.read_bytes())

        def one(content):
            (place / "x").write_bytes(content)
            try:
                read(place / "x")
            except FormatError:
                return

        atheris.Setup([sys.argv[0], str(corpus), *sys.argv[3:]], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
