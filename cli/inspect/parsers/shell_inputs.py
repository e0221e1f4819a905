"""Part of the shell parser of callgate inspect: what gives another standard input to commands elsewhere in a script."""

import re

from shell_names import name_of
from shell_words import BEGINNINGS, RESERVED, find_start

ENDS = {"fi", "done", "}", "esac"}  # of compound commands; behind them are the redirections of what is inside
FUNCTION = re.compile(
    r"(?:^|[\s;&|(])(?:function\s{1,20}([^\s;&|()]{1,200})|([^\s;&|()]{1,200})[ \t]{0,20}\([ \t]{0,20}\))"
)


def find_functions(text, commands):
    """Names of functions and aliases: a redirection of one is one of the commands in it."""
    names = {name for match in FUNCTION.finditer(text) for name in match.groups() if name}
    for command in commands:
        name, words = name_of(command.words)
        names |= {word.partition("=")[0] for word in words if name == "alias"}
    return names


def feeds_others(command, functions):
    """
    Whether another input of this command is one of others: of those in parentheses, a loop or the like that ends here
    or begins behind a pipe, in a function, in the text of an eval; or of those in ">(...)", which read what it writes.
    """
    words = command.words[find_start(command.words) :]
    if command.inner and any(word.startswith(">(") for word in command.words + command.targets):
        return True
    if command.pipes_into_others or (command.is_piped_from_previous and {*command.words[:1]} & (BEGINNINGS | RESERVED)):
        return True
    if command.replaces_input and (command.follows_parenthesis or {*command.words[:1]} & ENDS):
        return True
    is_told = command.replaces_input or command.is_piped_from_previous
    name = name_of(words)[0]
    return is_told and (name in functions or name == "eval")
