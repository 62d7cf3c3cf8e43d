"""Reads what `train --tensorboard logs` wrote as TensorBoard does, and compares it with rounds.csv.

    pip install tensorboard && python3 scripts/compare/events.py logs/mine results/mine

Without arguments it prints the records that TestGolden of internal/tensorboard has, as TensorBoard's own writer makes them.
"""

import csv
import io
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

COLUMNS = {
    "accuracy/pm": "pm_acc", "accuracy/gm": "gm_acc", "accuracy/pm_worst": "pm_acc_worst", "accuracy/gm_worst": "gm_acc_worst",
    "accuracy/pm_val": "pm_val_acc", "accuracy/gm_val": "gm_val_acc",
    "nll/pm": "pm_nll", "nll/gm": "gm_nll", "ece/pm": "pm_ece", "ece/gm": "gm_ece",
    "train/loss": "train_loss", "train/kl": "kl", "bytes/up": "bytes_up", "bytes/down": "bytes_down",
    "seconds/train": "train_seconds", "seconds/eval": "eval_seconds",
    "clients/dropped": "dropped", "clients/stragglers": "stragglers", "clients/empty_rounds": "empty_rounds",
    "weights/norm": "gm_norm", "weights/sigma": "gm_sigma",
}


def golden():
    text = io.BytesIO()
    out = RecordWriter(text)
    values = [Summary.Value(tag="accuracy/pm", simple_value=0.93), Summary.Value(tag="train/kl", simple_value=-1e-3)]
    for event in (
        Event(wall_time=1796042848.25, file_version="brain.Event:2"),
        Event(wall_time=1796042849.5, step=10, session_log=SessionLog(status=SessionLog.START)),
        Event(wall_time=1796042850.75, step=300, summary=Summary(value=values)),
    ):
        out.write(event.SerializeToString())
    return text.getvalue().hex()


def compare(logs, run):
    """Stops with an AssertionError where they differ."""
    events = EventAccumulator(logs, size_guidance={"scalars": 0})
    events.Reload()
    tags = events.Tags()["scalars"]
    with open(run + "/rounds.csv") as f:
        rows = list(csv.DictReader(f))
    for tag, column in COLUMNS.items():
        want = [(int(r["round"]), float(r[column])) for r in rows if r.get(column)]
        got = [(e.step, e.value) for e in events.Scalars(tag)] if tag in tags else []
        assert [s for s, _ in got] == [s for s, _ in want], (tag, got, want)
        slack = 0.0006 if tag.startswith("seconds/") else 0  # which have three digits in rounds.csv
        for (step, a), (_, b) in zip(got, want):
            assert abs(a - b) <= slack + 1e-7 * abs(b), (tag, step, a, b)
    assert set(tags) <= set(COLUMNS), tags
    print(f"{logs}: {len(tags)} tags, {len(rows)} steps")


if len(sys.argv) == 3:
    compare(sys.argv[1], sys.argv[2])
else:
    print(golden())
