"""A campaign in a process of its own, so that a test can kill it."""

import sys
from pathlib import Path

from fake_matrix import Campaign, rounds
from twotrees.errors import TwotreesError


def main() -> int:
    try:
        Campaign(Path(sys.argv[1]), rounds(int(sys.argv[2]))).drive()
    except KeyboardInterrupt:
        return 130
    except TwotreesError as error:
        print(error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
