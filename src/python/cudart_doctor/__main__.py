"""`python -m cudart_doctor` is the program: same arguments, same output, same exit status."""

import os
import sys

from . import Error, program

try:
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
except (Error, OSError) as error:
    print(f"cudart_doctor: {error}", file=sys.stderr)
    sys.exit(3)
