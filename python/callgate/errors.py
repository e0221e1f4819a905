"""Exceptions, with the names of E2B's SDK where it has them."""


class SandboxException(Exception):
    """Base class of all errors of this package but AuthenticationException."""


class AuthenticationException(Exception):
    """The server does not know the API key, or the sandbox's token is wrong."""


class ServerException(SandboxException):
    """callgate serve cannot be found, started or reached."""


class InvalidArgumentException(SandboxException):
    """An argument that the server or this package refuses."""


class NotFoundException(SandboxException):
    """Something that is not there."""


class FileNotFoundException(NotFoundException):
    """A path that does not exist, or that the sandbox's policy hides."""


class AlreadyExistsException(SandboxException):
    """A path that is there already. E2B's SDK has no class for it."""


class SandboxNotFoundException(NotFoundException):
    """A sandbox that does not exist, or belongs to another key."""


class NotEnoughSpaceException(SandboxException):
    """The sandbox's disk is full."""


class RateLimitException(SandboxException):
    """A quota of the API key or of the sandbox is used up."""


class TimeoutException(SandboxException):
    """A time given for a request, a command, code, or for the sandbox is over."""


class SandboxEndedException(TimeoutException):
    """The sandbox ended during a request: it was killed, or its time was over. E2B's SDK calls that a timeout."""
