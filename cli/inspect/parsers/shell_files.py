"""Part of the shell parser of callgate inspect: the directories whose content a command copies, reads or sends."""

import re

DESTINATION_LAST = {"cp", "mv", "scp", "rsync", "install", "ln"}  # their last word is where to
COPIES = DESTINATION_LAST - {"ln", "install"} | {
    "tar", "bsdtar", "zip", "7z", "7za", "rar", "cpio", "pax", "ar", "curl", "rclone", "restic", "borg", "gsutil",
    "aws", "s3cmd", "gpgtar", "cat", "base64", "grep", "egrep", "rg", "strings",
}
EXCLUDES = {"--exclude", "--exclude-from", "--exclude-dir", "-x", "-path", "--target-directory", "-t", "-o", "--output"}
ALL = {".", "./", "*", "./*", "..", ".*"}  # what is in the current directory
REFERENCE = re.compile(r"^\$(\w+|\{\w+\})")


def is_extracting(words):
    """Whether tar takes files out of an archive."""
    first = words[0] if words else ""
    return bool(re.match(r"^-?[a-zA-Z]*[xt]", first)) and not first.startswith("--") or any(
        re.match(r"^(-[a-zA-Z]*x[a-zA-Z]*|--extract|--get|--list)$", word) for word in words
    )


def find_program_of(words, at):
    """The command that find or xargs start: name and what it gets."""
    return (words[at].rsplit("/", 1)[-1], words[at + 1 :]) if at < len(words) else ("", [])


class Directories:
    """Goes through the commands of a script in their order."""

    def __init__(self, constants):
        self.constants = constants  # variables, and their values
        self.current = ""  # that the last cd went to

    def expand(self, word):
        match = REFERENCE.match(word)
        if not match:
            return word
        return self.constants.get(match.group(1).strip("{}"), match.group(0)) + word[match.end() :]

    def find(self, name, words):
        """The names of files and directories that a command copies, reads or sends."""
        words = [self.expand(word) for word in words]
        if name in ("cd", "pushd"):
            self.current = words[-1] if words else ""
            return []
        if name == "find":
            starts = [at for at, word in enumerate(words) if word in ("-exec", "-execdir", "-ok")]
            runs = any(find_program_of(words, at + 1)[0] in COPIES for at in starts)
            return [word for word in words if word[:1] != "-"] if runs else []
        if name not in COPIES or (name in ("tar", "bsdtar") and is_extracting(words)):
            return []
        return self.find_sources(name, words)

    def find_sources(self, name, words):
        found = [word for word, before in zip(words, [""] + words) if before not in EXCLUDES]
        has_target = any(re.match(r"^(-\w*t|--target-directory)", word) for word in words)
        if name in DESTINATION_LAST and found and not (has_target and name in ("cp", "mv")):
            found = found[:-1]
        found = [re.sub(r"^(-C|--directory=|[\w-]{0,30}=?@)", "", word) for word in found]
        if ALL & set(found) and not name.endswith("grep"):
            found.append(self.current)
        return found
