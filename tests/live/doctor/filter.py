#!/usr/bin/env python3
"""Runs a command below a seccomp filter that gives system calls an errno.

Usage: filter.py SPEC[,SPEC...] COMMAND...

A SPEC is NUMBER:ERRNO (0: allowed), "listener:ERRNO" for seccomp(2) that wants a listener, "namespaces:ERRNO" for
clone(2) that makes some, "default:ERRNO" or "default:kill" for calls that are not listed, which else are allowed.
"""
import ctypes
import os
import struct
import sys

LOAD, JUMP_IF_EQUAL, JUMP_IF_SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x50000, 0x80000000
NUMBER, FIRST_ARG, SECOND_ARG = 0, 16, 24
NEW_LISTENER, NEW_NAMESPACES = 1 << 3, 0x7E020000
SECCOMP, CLONE = {"x86_64": (317, 56), "aarch64": (277, 220)}[os.uname().machine]
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)


def action(word):
    if word == "kill":
        return KILL_PROCESS
    return ERRNO | int(word) if int(word) else ALLOW


def refuse_if_set(number, argument, bits, word):
    """The call gets the action when one of the bits is set in its argument."""
    return (instruction(JUMP_IF_EQUAL, number, 0, 4) + instruction(LOAD, argument) +
            instruction(JUMP_IF_SET, bits, 0, 1) + instruction(RETURN, action(word)) + instruction(LOAD, NUMBER))


def build_filter(specs):
    code, default = instruction(LOAD, NUMBER), ALLOW
    for call, word in (spec.split(":") for spec in specs):
        if call == "listener":
            code += refuse_if_set(SECCOMP, SECOND_ARG, NEW_LISTENER, word)
        elif call == "namespaces":
            code += refuse_if_set(CLONE, FIRST_ARG, NEW_NAMESPACES, word)
        elif call == "default":
            default = action(word)
        else:
            code += instruction(JUMP_IF_EQUAL, int(call), 0, 1) + instruction(RETURN, action(word))
    return code + instruction(RETURN, default)


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def main():
    code = build_filter(sys.argv[1].split(","))
    program = Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                                                                 ctypes.byref(program), 0, 0):
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[2], sys.argv[2:])


main()
