"""Part of the shell parser of callgate inspect: names by which a script finds files beside itself."""

import re

# In a word, what the script's directory is put in the place of, by cli/inspect/line.c: that of $0, of BASH_SOURCE.
OWN_MARKS = {"0": "\1", "BASH_SOURCE": "\2"}

PLAIN = r"(/[^$`*?\[{\0-\x20]{0,300})?"
OWN_NAME = r'"?\$\{?(0|BASH_SOURCE)(?:\[0\])?\}?"?'
REAL_NAME = r'"?\$\((?:readlink -f|realpath) (?:-- )?%s\)"?' % OWN_NAME
PARENT = r'"?\$\(dirname (?:-- )?(?:%s|%s)\)"?' % (OWN_NAME, REAL_NAME)
ENTERED = r"\$\((?:CDPATH= ?)?cd (?:-P )?(?:-- )?%s(?: ?&?>/dev/null)?(?: 2>&1)? ?(?:&&|;) ?pwd(?: -P)?\)" % PARENT
DIRECTORY = re.compile(r"(?:%s|%s|\$\{(0|BASH_SOURCE)(?:\[0\])?%%/\*\})%s\Z" % (PARENT, ENTERED, PLAIN))
VARIABLE = re.compile(r"\$(?:(\w{1,100})|\{(\w{1,100})\})%s\Z" % PLAIN)


def find_own(word):
    """A mark, and the rest of a word that begins with the directory of the script: $(dirname "$0")/x. None: another."""
    match = DIRECTORY.match(word) if len(word) < 1000 else None
    groups = match.groups() if match else ()
    return OWN_MARKS[next(filter(None, groups[:-1]))] + (groups[-1] or "") if match else None


class OwnFiles:
    """Which variables have the name of the script's directory, or of a file beside the script."""

    def __init__(self):
        self.values = {}

    def learn(self, name, value):
        found = self.find(value)
        if found:
            self.values[name] = found
        else:
            self.values.pop(name, None)

    def find(self, word):
        """A word as cli/inspect/line.c takes it. "": what it is is not known."""
        match = VARIABLE.match(word) if len(word) < 1000 else None
        start = match and self.values.get(match.group(1) or match.group(2))
        return start + (match.group(3) or "") if start else find_own(word) or ""
