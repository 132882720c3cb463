"""Reads the event file of tests/golden/run with TensorBoard's own reader and records what it saw.

    pip install tensorboard
    python3 tests/golden/tensorboard/read.py > tests/golden/tensorboard/expected.json

To be run again when the event file of the golden run changes.
"""

import glob
import json
import os
import sys

import tensorboard
from google import protobuf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

here = os.path.dirname(os.path.abspath(__file__))
[path] = glob.glob(os.path.join(here, "../run/events.out.tfevents.*"))
events = EventAccumulator(path, size_guidance={"scalars": 0, "images": 0, "histograms": 0})
events.Reload()
tags = events.Tags()
seen = {
    "versions": {
        "python": sys.version.split()[0],
        "tensorboard": tensorboard.__version__,
        "protobuf": protobuf.__version__,
    },
    "file": os.path.basename(path),
    "bytes": os.path.getsize(path),
    "scalars": {
        # JSON has no word for what is not a number.
        tag: [[e.step, e.value if e.value == e.value else None] for e in events.Scalars(tag)]
        for tag in sorted(tags["scalars"])
    },
    "images": {
        tag: [[e.step, e.width, e.height, len(e.encoded_image_string)] for e in events.Images(tag)]
        for tag in sorted(tags["images"])
    },
    "histograms": {
        tag: [
            {
                "step": e.step,
                "figures": [
                    e.histogram_value.min,
                    e.histogram_value.max,
                    e.histogram_value.num,
                    e.histogram_value.sum,
                    e.histogram_value.sum_squares,
                ],
                "limits": list(e.histogram_value.bucket_limit),
                "counts": list(e.histogram_value.bucket),
            }
            for e in events.Histograms(tag)
        ]
        for tag in sorted(tags["histograms"])
    },
}
json.dump(seen, sys.stdout, indent=1)
print()
