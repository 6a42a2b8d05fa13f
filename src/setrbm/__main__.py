"""``python -m setrbm`` is the command ``setrbm``."""

from setrbm.cli import main

if __name__ == "__main__":
    main()
