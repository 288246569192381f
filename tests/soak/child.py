"""A long-lived process that runs cases of the soak, with limits of memory and time.

    python -m soak.child FOLDER MEMORY SECONDS

It says ``ready``, then reads lines ``family number``, and answers each with a line of JSON.
"""

import json
import resource
import signal
import sys
import traceback
from pathlib import Path

from soak.cases import run_case
from soak.guard import ViolationError
from soak.samples import KINDS

_WAITING = 20  # times the limit of processor time: what waits for longer than that hangs


def main():
    folder, memory, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    answers, sys.stdout = sys.stdout, sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the soak, which ends this process by its input
    sys.dont_write_bytecode = True  # reading is to write nothing at all
    for kind in KINDS:
        run_case(kind, 1, folder)  # libraries that are loaded at the first use are not counted
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        family, number = line.split()
        # Their default action ends the process, whatever it does. Other programs may have most of the processor.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, _WAITING * seconds)
        answers.write(json.dumps(_told(family, int(number), folder)) + "\n")
        answers.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _told(family, number, folder):
    try:
        return [run_case(family, number, folder), ""]
    except ViolationError as error:
        return ["violated", str(error)]
    except Exception:  # whatever is not one of our errors is a violation, also a lack of memory
        return ["violated", traceback.format_exc()[-1500:]]


if __name__ == "__main__":
    main()
