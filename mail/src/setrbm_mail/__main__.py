"""``python -m setrbm_mail`` is the command ``setrbm-mail``."""

from setrbm_mail.cli import main

if __name__ == "__main__":
    main()
