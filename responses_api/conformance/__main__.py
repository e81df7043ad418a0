"""`python -m responses_api.conformance`: the suite where there is no Django."""

import sys
from argparse import ArgumentParser

from responses_api.conformance.command import DESCRIPTION, add_arguments, main

if __name__ == "__main__":
    parser = ArgumentParser(prog="python -m responses_api.conformance", description=DESCRIPTION)
    add_arguments(parser)
    sys.exit(main(parser.parse_args(), print, lambda text: print(text, file=sys.stderr)))
