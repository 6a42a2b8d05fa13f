"""What packages that build on setrbm share with it: files, words in messages, and the parts of a command line.

=========  =============================================================================================
files      files that appear whole or not at all
text       counts and lists in messages
lazy       public names that are loaded when first used
errors     the base class of errors that are shown as one sentence
commands   commands that show errors as one sentence, with exit codes
options    options that all commands have, and options from a dataclass
output     tables, JSON and checks of output files
progress   a bar with the time left
scores     the scores of predictions, shown
=========  =============================================================================================
"""
