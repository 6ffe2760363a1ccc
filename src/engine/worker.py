"""Renders the rows of a plan: each of its files is a task, and each task has a child, `nihbuild worker render`."""

import argparse
import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import pyarrow as pa


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan", help="the plan: its folder or address, as every worker sees it")
    parser.add_argument("rows", help="folder or address for prompt rows, as every worker sees it")
    parser.add_argument("--program", default="nihbuild", help="nihbuild, as every worker sees it")
    parser.add_argument("--via", choices=["storage", "engine"], default="storage", help="what writes prompt rows")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, help="tasks at a time, on this machine")
    where.add_argument("--cluster", help="address of a cluster; left out with --workers: that of the environment")
    parser.add_argument("--scratch", help="folder for what the engine leaves on this machine")
    parser.add_argument("--held", action="store_true", help="end when standard input does: who started this is gone")
    args = parser.parse_args()
    args.command = [args.program, "worker", "render", args.plan, "--jobs", "1"]
    args.command += ["--to", args.rows] if args.via == "storage" else []
    return args


def rendered(command, batches):
    """What a child makes of batches of plan rows: batches of prompt rows, or of receipts for them."""
    batches = iter(batches)
    first = next(batches, None)
    if first is None:
        return

    def feed():
        try:
            with child.stdin, pa.ipc.new_stream(child.stdin, first.schema) as stream:
                stream.write(first)
                for batch in batches:
                    stream.write(batch)
        except BrokenPipeError:
            pass  # The child has ended, and its exit code says how.
        except BaseException:
            child.kill()  # Some of the rows must not pass for all of them.
            raise

    pipe, fault = subprocess.PIPE, None
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=said) as child:
            threading.Thread(target=feed, daemon=True).start()
            try:
                yield from pa.ipc.open_stream(child.stdout)
            except (pa.ArrowException, OSError) as error:
                fault = error
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
    code = child.returncode
    if code or fault:
        last = f"ended by signal {-code}" if code < 0 else lines[-1] if lines else f"exit code {code}, {fault}"
        raise RuntimeError(f"worker: {last}")


def ready(args):
    """Says that the engine has started. It is not ended before: half an engine may be left behind."""

    def held():
        os.read(0, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    print("ready", flush=True)
    if args.held:
        threading.Thread(target=held, daemon=True).start()


def carried_out(driver):
    """Runs the driver. Of a worker that failed as often as the engine allows, the last line is what it said."""
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if args.scratch:
        atexit.register(shutil.rmtree, args.scratch, ignore_errors=True)
    if args.held:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # It ends whoever started this, and `held` sees that.
    try:
        driver(args)
    except Exception as error:
        said = re.search("RuntimeError: (worker: .*)", str(error))
        sys.exit("failed: " + (said[1] if said else f"{type(error).__name__}: {error}"))
