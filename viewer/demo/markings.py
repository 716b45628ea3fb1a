"""How the demo's NVTX ranges mark its iterations: the job is the same, the texts and domains differ."""

from __future__ import annotations

from typing import Literal, get_args

Marking = Literal["iterations", "none", "phases", "layers", "optimizer", "own-domain", "glued", "warm-up"]
MARKINGS: tuple[Marking, ...] = get_args(Marking)

OWN_DOMAIN = "MyTrainer"
WARM_UP_STEPS = 8
DOMAIN_IDS = {"": 0, "NCCL": 1, OWN_DOMAIN: 7}
_ITERATION, _LAYER, _OPTIMIZER = "Iteration ", "layer ", "optimizer"


def marked(text: str, domain: str, marking: Marking, iteration: int) -> tuple[str, str] | None:
    """Return the text and the domain of a range under a marking, None where it leaves the range out.

    Libraries' ranges stay as they are. "own-domain": the iterations are in a domain that the job registers.
    "warm-up": the first ones are warm-up steps of another name.
    """
    if domain or marking == "iterations":
        return text, domain
    is_iteration = text.startswith(_ITERATION)
    kept = {
        "none": False,
        "phases": not is_iteration,
        "layers": text.startswith(_LAYER),
        "optimizer": text == _OPTIMIZER,
    }.get(marking, True)
    if not kept:
        return None
    if marking == "optimizer":
        return "Optimizer.step#AdamW.step", domain
    if is_iteration and marking == "own-domain":
        return text, OWN_DOMAIN
    if is_iteration and marking == "glued":
        return f"iteration{iteration}", domain
    if is_iteration and marking == "warm-up":
        return f"{'Warm-up Step' if iteration < WARM_UP_STEPS else 'Step'} {iteration}", domain
    return text, domain
