"""Part of the shell parser of callgate inspect: what gives another standard input to commands elsewhere in a script."""

import re

from shell_names import name_of
from shell_words import BEGINNINGS, RESERVED, find_start

ENDS = {"fi", "done", "}", "esac"}  # of compound commands; behind them are the redirections of what is inside
FUNCTION = re.compile(r"(?:^|[\s;&|(])(?:function\s|[^\s;&|()]{1,200}[ \t]{0,20}\([ \t]{0,20}\))")


def has_functions(text, commands):
    """
    Whether a script makes functions or aliases. What calls one, perhaps in another script that reads this one, may give
    another input to the commands in it.
    """
    return bool(FUNCTION.search(text)) or any(name_of(command.words)[0] == "alias" for command in commands)


def feeds_others(command):
    """
    Whether another input of this command is one of others: of those in parentheses, a loop or the like that ends here
    or begins behind a pipe, in the text of an eval; or of those in ">(...)", which read what it writes.
    """
    words = command.words[find_start(command.words) :]
    if command.inner and any(word.startswith(">(") for word in command.words + command.targets):
        return True
    if command.pipes_into_others or (command.is_piped_from_previous and {*command.words[:1]} & (BEGINNINGS | RESERVED)):
        return True
    if command.replaces_input and (command.follows_parenthesis or {*command.words[:1]} & ENDS):
        return True
    is_told = command.replaces_input or command.is_piped_from_previous
    return is_told and name_of(words)[0] == "eval"
