"""A judge with a selectable behavior: `python scripted_judge.py BEHAVIOR [ARGUMENT ...]`.

It passes all its arguments to the processes that it starts, so that tests can find them.
"""

from __future__ import annotations

import os
import sys
import time

# Other modules are imported on demand, because many tests start this script.

VALID = '{"score": 1}'


def write(text=VALID):
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def dump(value):
    import json

    return json.dumps(value)


def echo():
    import json

    request = json.load(sys.stdin)
    write(dump({"score": 1, "details": request}) + "\n")


def write_large(size):
    write('{"score": 1, "reasoning": "' + "x" * (int(size) - 29) + '"}')


def write_nested(depth):
    write('{"score": 1, "details": {"a": ' + "[" * int(depth) + "]" * int(depth) + "}}")


def write_slowly():
    for character in VALID:
        write(character)
        time.sleep(0.005)


def write_and(behavior, *arguments):
    write()
    BEHAVIORS[behavior](*arguments)


def write_stderr(text, size=1):
    sys.stderr.write(text * int(size))
    sys.stderr.flush()


def write_stderr_and(text, behavior, *arguments):
    write_stderr(text)
    BEHAVIORS[behavior](*arguments)


def flood(stream, text="y\n"):
    while True:
        os.write(int(stream), text.encode() * 5_000)


def close(stream):
    os.close(int(stream))
    write() if stream == "0" else sleep()


def sleep():
    """Sleep for much longer than tests wait for the end of a process."""
    time.sleep(3600)


def ignore_sigterm(behavior, *arguments):
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    BEHAVIORS[behavior](*arguments)


def exit_with(code):
    sys.stdout.flush()
    os._exit(int(code))


def kill_self(number):
    os.kill(os.getpid(), int(number))
    sleep()


def crash():
    raise ValueError("internal error of the judge")


def start(*arguments, **options):
    """Start another process with the same marker."""
    import subprocess

    return subprocess.Popen([sys.executable, "-IS", __file__, *arguments, *sys.argv[1:]], **options)


def start_child():
    start("sleep")
    sleep()


def start_grandchild():
    start("start_child")
    sleep()


DEVNULL = -3  # subprocess.DEVNULL


def daemon(output="devnull"):
    """Start a process that leaves the session and outlives this one."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    pipes = {"devnull": DEVNULL, "inherit": None}[output]
    start("sleep", stdin=pipes, stdout=pipes, stderr=pipes)
    os._exit(0)


def detached_child():
    """Start a child in its own session, without environment variables."""
    start("sleep", env={}, start_new_session=True)
    sleep()


def background_child(output="inherit"):
    pipes = {"devnull": DEVNULL, "inherit": None}[output]
    start("sleep", stdin=pipes, stdout=pipes, stderr=pipes)


def background_child_without_env():
    """Start a child in the same process group, without environment variables."""
    start("sleep", env={}, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)


def background_output():
    """Start a child that writes after this process has exited, and then keeps running."""
    parent = os.getpid()
    if os.fork():
        return
    while os.getppid() == parent:
        time.sleep(0.01)
    write("late output")
    os.close(1)
    os.close(2)
    start("sleep", stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL).wait()


def exit_with_background_child():
    background_child()
    os._exit(5)


def many_children(size):
    for _ in range(int(size)):
        start("sleep")
    sleep()


def use_memory():
    wait_for_limits()
    blocks = []
    while True:
        blocks.append(bytearray(10_000_000))


def wait_for_limits():
    """Wait for the end of the input, which is sent after the limits are set."""
    sys.stdin.read()


def limits():
    import resource

    wait_for_limits()
    names = ("CORE", "CPU", "FSIZE", "NOFILE", "DATA")
    found = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in names}
    write(dump({"score": 1, "details": found}) + "\n")


def environment():
    details = {"env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:]}  # noqa: PTH109
    write(dump({"score": 1, "details": details}) + "\n")


def each_line(behavior="respond", *arguments):
    """Handle each line with the given behavior."""
    import json

    for number, line in enumerate(sys.stdin, 1):
        LINE_BEHAVIORS[behavior](json.loads(line), number, *arguments)
        sys.stdout.flush()


def respond(request, number):
    details = {"n": number, "pid": os.getpid(), "case": request["case_id"]}
    write(dump({"score": 1, "details": details}) + "\n")


def each_line_and(behavior, *arguments):
    """Respond to each line, then run another behavior."""
    each_line()
    BEHAVIORS[behavior](*arguments)


def touch(file):
    open(file, "w").close()  # noqa: PTH123


def write_first():
    """Write before the first request, and never respond."""
    write("hello\n")
    sys.stdin.read()


def respond_after_one_byte():
    os.read(0, 1)
    write(VALID + "\n")
    sleep()


def respond_and_exit(request, number):
    respond(request, number)
    sys.stdout.flush()
    os._exit(0)


def respond_twice(request, number):
    respond(request, number)
    respond(request, number)


def respond_then_write(request, number, trigger, done):
    """Respond, write again once the file `trigger` exists, then create the file `done`."""
    respond(request, number)
    sys.stdout.flush()
    while not os.path.exists(trigger):  # noqa: PTH110
        time.sleep(0.01)
    write("unrequested\n")
    touch(done)


def follow_candidate(request, number):
    """Run the behavior that the candidate names."""
    behavior, *arguments = request["candidate"].split(" ")
    if behavior == "respond":
        respond(request, number)
    elif behavior == "exit_once":
        # A file records the first attempt, because the process does not survive it.
        if os.path.exists(arguments[0]):  # noqa: PTH110
            respond(request, number)
        else:
            touch(arguments[0])
            os._exit(7)
    else:
        BEHAVIORS[behavior](*arguments)


def respond_for_other_case(request, number):
    write(dump({"score": 1, "case_id": "another"}) + "\n")


LINE_BEHAVIORS = {
    f.__name__: f
    for f in (
        respond, respond_and_exit, respond_twice, respond_then_write, follow_candidate,
        respond_for_other_case,
    )
}  # fmt: skip
BEHAVIORS = {
    f.__name__: f
    for f in (
        write, echo, write_large, write_nested, write_slowly, write_and, write_stderr,
        write_stderr_and, flood, close, sleep, ignore_sigterm, exit_with, kill_self, crash,
        start_child, start_grandchild, daemon, detached_child, background_child_without_env,
        background_child, background_output, many_children, use_memory, limits, environment,
        each_line, each_line_and, touch, exit_with_background_child, respond_after_one_byte,
        write_first,
    )
}  # fmt: skip

if __name__ == "__main__":
    behavior, *arguments = [word for word in sys.argv[1:] if not word.startswith("marker-")]
    if behavior in {"sleep", "start_child"}:
        # The other arguments are those of the parent process.
        BEHAVIORS[behavior]()
    else:
        BEHAVIORS[behavior](*arguments)
