"""A judge that behaves as it is told: `python behaviour.py WHAT [ARGUMENT ...]`.

Every process that it starts carries all of its arguments, so that a test can look for them.
"""

from __future__ import annotations

import os
import sys
import time

# The rest is imported where it is used: each of many tests starts this anew.

GOOD = '{"score": 1}'


def say(text=GOOD):
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def dumped(value):
    import json

    return json.dumps(value)


def say_hex(digits):
    sys.stdout.buffer.write(bytes.fromhex(digits))


def answer():
    import json

    request = json.load(sys.stdin)
    say(dumped({"score": 1, "details": request}) + "\n")


def say_much(size):
    say('{"score": 1, "reasoning": "' + "x" * (int(size) - 29) + '"}')


def say_deep(depth):
    say('{"score": 1, "details": {"a": ' + "[" * int(depth) + "]" * int(depth) + "}}")


def say_slowly():
    for letter in GOOD:
        say(letter)
        time.sleep(0.005)


def say_and(what, *arguments):
    say()
    BEHAVIOURS[what](*arguments)


def complain(text, size=1):
    sys.stderr.write(text * int(size))
    sys.stderr.flush()


def complain_and(text, what, *arguments):
    complain(text)
    BEHAVIOURS[what](*arguments)


def flood(stream, text="y\n"):
    while True:
        os.write(int(stream), text.encode() * 5_000)


def close(stream):
    os.close(int(stream))
    say() if stream == "0" else sleep()


def sleep(seconds=60):
    time.sleep(float(seconds))


def stubborn(what, *arguments):
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    BEHAVIOURS[what](*arguments)


def leave(code):
    sys.stdout.flush()
    os._exit(int(code))


def die(number):
    os.kill(os.getpid(), int(number))
    time.sleep(5)


def crash():
    raise ValueError("a fault of the judge itself")


def again(*arguments, **how):
    """Another process with the same marks."""
    import subprocess

    return subprocess.Popen([sys.executable, "-IS", __file__, *arguments, *sys.argv[1:]], **how)


def child():
    again("sleep")
    sleep()


def grandchild():
    again("child")
    sleep()


QUIET = -3  # what subprocess calls DEVNULL


def daemon(where="quiet"):
    """Leaves the session, is adopted by another process, and lives on."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    pipes = {"quiet": QUIET, "loud": None}[where]
    again("sleep", stdin=pipes, stdout=pipes, stderr=pipes)
    os._exit(0)


def nameless_child():
    """A child in a session of its own, without any of our variables."""
    again("sleep", env={}, start_new_session=True)
    sleep()


def background(where="loud"):
    pipes = {"quiet": QUIET, "loud": None}[where]
    again("sleep", stdin=pipes, stdout=pipes, stderr=pipes)


def nameless_background():
    """A child in our group, without any of our variables."""
    again("sleep", env={}, stdin=QUIET, stdout=QUIET, stderr=QUIET)


def background_talk():
    """A child that speaks when we are gone, closes its output, and lives on."""
    parent = os.getpid()
    if os.fork():
        return
    while os.getppid() == parent:
        time.sleep(0.01)
    say("and another thing")
    os.close(1)
    os.close(2)
    again("sleep", stdin=QUIET, stdout=QUIET, stderr=QUIET).wait()


def desert():
    background()
    os._exit(5)


def crowd(size):
    for _ in range(int(size)):
        again("sleep")
    sleep()


def devour():
    hoard = []
    while True:
        hoard.append(bytearray(10_000_000))


def limits():
    import resource

    names = ("CORE", "CPU", "FSIZE", "NOFILE", "DATA")
    found = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in names}
    say(dumped({"score": 1, "details": found}) + "\n")


def surroundings():
    told = {"env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:]}  # noqa: PTH109
    say(dumped({"score": 1, "details": told}) + "\n")


def each_line(what="reply", *arguments):
    """Stays, and treats each line as it is told."""
    import json

    for number, line in enumerate(sys.stdin, 1):
        LINES[what](json.loads(line), number, *arguments)
        sys.stdout.flush()


def reply(request, number):
    details = {"n": number, "pid": os.getpid(), "case": request["case_id"]}
    say(dumped({"score": 1, "details": details}) + "\n")


def each_line_and(what, *arguments):
    """Stays, and does something when there are no more lines."""
    each_line()
    BEHAVIOURS[what](*arguments)


def touch(file):
    open(file, "w").close()  # noqa: PTH123


def greet():
    """Speaks before it is asked, and then only listens."""
    say("hello\n")
    sys.stdin.read()


def hasty():
    say(GOOD + "\n")
    sleep()


def reply_and_leave(request, number):
    reply(request, number)
    sys.stdout.flush()
    os._exit(0)


def twice(request, number):
    reply(request, number)
    reply(request, number)


def later_once_more(request, number, wanted, done):
    """Speaks again when one file is there, and makes another when it has done so."""
    reply(request, number)
    sys.stdout.flush()
    while not os.path.exists(wanted):  # noqa: PTH110
        time.sleep(0.01)
    say("just saying\n")
    touch(done)


def as_the_case_says(request, number):
    """The case names what is done with it."""
    what, *arguments = request["candidate"].split(" ")
    if what == "reply":
        reply(request, number)
    elif what == "once":
        # The mark of the first try is a file, for nothing else outlives the process.
        if os.path.exists(arguments[0]):  # noqa: PTH110
            reply(request, number)
        else:
            touch(arguments[0])
            os._exit(7)
    else:
        BEHAVIOURS[what](*arguments)


def other_case(request, number):
    say(dumped({"score": 1, "case_id": "another"}) + "\n")


LINES = {
    f.__name__: f
    for f in (reply, reply_and_leave, twice, later_once_more, as_the_case_says, other_case)
}
BEHAVIOURS = {
    f.__name__: f
    for f in (
        say, say_hex, answer, say_much, say_deep, say_slowly, say_and, complain, complain_and,
        flood, close, sleep, stubborn, leave, die, crash, child, grandchild, daemon,
        nameless_child, nameless_background, background, background_talk, crowd, devour, limits, surroundings,
        each_line, each_line_and, touch, desert, hasty, greet,
    )
}  # fmt: skip

if __name__ == "__main__":
    what, *arguments = [word for word in sys.argv[1:] if not word.startswith("mark-")]
    if what in {"sleep", "child"}:
        # What follows are only the words of the process that started this one.
        BEHAVIOURS[what]()
    else:
        BEHAVIOURS[what](*arguments)
