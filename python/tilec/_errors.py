# SPDX-License-Identifier: Apache-2.0
"""Failures as exceptions: one class for each kind, with the diagnostics as attributes."""


class Message:
    """One diagnostic: what is wrong, where, and mostly how to mend it."""

    __slots__ = ("severity", "code", "message", "help", "path", "line", "column", "begin", "end", "text")

    def __init__(self, raw):
        def words(value):
            return None if value is None else value.decode("utf-8", "replace")

        self.severity = "warning" if raw.severity else "error"
        self.code, self.message, self.help, self.path = (
            words(raw.code),
            words(raw.message),
            words(raw.help),
            words(raw.path),
        )
        self.line, self.column, self.begin, self.end = raw.line, raw.column, raw.begin, raw.end
        self.text = words(raw.plain)

    def __repr__(self):
        return f"<tilec.Message {self.code}: {self.message}>"


class Error(Exception):
    """What all exceptions of tilec are.

    Attributes: `code` ("E0203", "launch.type"), `message`, `help` (the mend, or None), `path`, `line`, `column`,
    `begin`, `end` (bytes) of the first error, where it has a place; `messages`, all of them. str() gives them as a
    person reads them, the source line underlined.
    """

    def __init__(self, text, messages=()):
        super().__init__(text)
        self.messages = list(messages)
        first = next((m for m in self.messages if m.severity == "error"), None)
        for name in ("code", "message", "help", "path", "line", "column", "begin", "end"):
            setattr(self, name, getattr(first, name, None))
        if first is None:
            self.message = text

    def __reduce__(self):
        messages = [{name: getattr(m, name) for name in Message.__slots__} for m in self.messages]
        return (_rebuild, (type(self), str(self), messages, self.code, self.message))


def _rebuild(kind, text, messages, code, message):
    made = []
    for fields in messages:
        made.append(Message.__new__(Message))
        for name, value in fields.items():
            setattr(made[-1], name, value)
    error = kind(text, made)
    error.code, error.message = code, message
    return error


class ProgramError(Error, ValueError):
    """The program, a config or a check is wrong."""


class UsageError(Error, ValueError):
    """A name, a file or an option that isn't there."""


class FileError(UsageError, OSError):
    """A file that can't be read."""

    def __new__(cls, text, messages=()):
        return OSError.__new__(cls, text)  # two values would be a number and its meaning

    def __str__(self):
        return self.message


class MissingError(Error, RuntimeError):
    """Something is missing: a C compiler, NVRTC, a driver, a device."""


class ConfigError(Error, ValueError):
    """The config can't be lowered for this kernel, or is over a limit of the device."""


class LaunchError(Error, ValueError):
    """An argument is wrong, or the launch failed."""


class InternalError(Error, RuntimeError):
    """A fault of tilec."""


class TuneInterrupted(KeyboardInterrupt):
    """Ctrl-C in autotune. `best` is the best config so far, or None."""

    def __init__(self, best):
        super().__init__("the tune was interrupted" + ("; .best is the best config so far" if best else ""))
        self.best = best


KINDS = {1: ProgramError, 2: UsageError, 3: MissingError, 4: ConfigError, 5: LaunchError, 70: InternalError}


def make_error(result, raw, before="", behind=""):
    """The exception for a tilec_result and the report's messages."""
    messages = [Message(item) for item in raw]
    text = "".join(m.text for m in messages if m.severity == "error").rstrip("\n")
    text = text or f"tilec failed with result {result} and gave no reason"
    return KINDS.get(result, InternalError)(f"{before}{text}{behind}", messages)


def refused(kernel, code, reason):
    """The exception for an argument of a kernel that is wrong before libtilec sees it."""
    error = LaunchError(f"error[{code}]: {kernel}: {reason}")
    error.code, error.message = code, reason
    return error


def usage(code, reason):
    """The exception for an option that is wrong before libtilec sees it."""
    error = UsageError(f"error[{code}]: {reason}")
    error.code, error.message = code, reason
    return error


for _kind in (Message, Error, TuneInterrupted, FileError, *KINDS.values()):
    _kind.__module__ = "tilec"  # where people find them
