"""The built-in demo: a small simulation of an eight-rank training job, written as an nsys export."""

from viewer.demo.make import default_demo, job, make_demo
from viewer.demo.options import DemoOptions
from viewer.demo.truth import Dependencies, GroundTruth, dependencies, ground_truth

__all__ = [
    "DemoOptions",
    "Dependencies",
    "GroundTruth",
    "default_demo",
    "dependencies",
    "ground_truth",
    "job",
    "make_demo",
]
