import argparse
from datetime import timedelta

from cli.duration import parse_duration


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nap", description="Pause the feeders.")
    parser.add_argument("feeder", help="name of the feeder")
    parser.add_argument(
        "--for",
        dest="period",
        type=parse_duration,
        default=timedelta(minutes=15),
        help="how long, e.g. 90s, 15m or 1h30m (default: 15m)",
    )
    return parser
