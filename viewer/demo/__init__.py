"""The built-in demo: a small simulation of an eight-rank training job, written as an nsys export."""

from viewer.demo.make import default_demo, job, make_demo
from viewer.demo.options import DemoOptions
from viewer.demo.simulation import GroundTruth, ground_truth

__all__ = ["DemoOptions", "GroundTruth", "default_demo", "ground_truth", "job", "make_demo"]
