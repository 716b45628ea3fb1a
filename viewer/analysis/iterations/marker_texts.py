"""What the text of a range says of it as a marker: a numbered step, a part of a step, or a step apart.

The rules are case-insensitive and see the text with its numbers as ``#`` (docs/definitions.md, section 6).
"""

from __future__ import annotations

import re

_I = re.IGNORECASE
# `trainStep`, `ProfilerStep` and `global_step` end in the word; `iterator`, `criterion` and `steps` do not.
_WORD = r"(?:step|iteration|(?<![a-z])(?:iter|itr|it)|(?-i:(?<=[a-z])(?:Iter|Itr)))"
_COUNTED = r"[\W_]{0,3}(?:(?:id|idx|index|no|num|number|n)(?![a-z])[\W_]{0,3})?"
_NUMBERED_STEP = re.compile(rf"{_WORD}{_COUNTED}#|(?:迭代|步)[\W_]{{0,3}}#|第\s*#\s*(?:步|次迭代)", _I)
_STEP = re.compile(rf"{_WORD}(?![a-z])|迭代|步", _I)

_FORWARD = re.compile(r"(?<!straight)(?<!feed)(?<!feed[_ -])forward|(?<![a-z])fwd|(?<![a-z])fprop|前向", _I)
_BACKWARD = re.compile(
    r"backward|back_?prop|(?<![a-z])bwd|(?<![a-z])bprop|(?<![a-z])grad(?:ient)?s?(?![a-z])|反向|梯度", _I
)
_OPTIMIZER = re.compile(
    r"optimi[sz]er|(?<![a-z])optim(?![a-z])|(?<![a-z])opt[._]step"
    r"|(?:adam\w*|adagrad|adadelta|adafactor|rmsprop|sgd|lamb|lars|lion|muon|shampoo|engine|scaler)\.step"
    r"|(?:take|apply)_model_step|(?:update|apply)[_ -]?(?:weights?|params?|parameters?|gradients?)"
    r"|(?:weights?|params?|parameters?)[_ -]?update|优化器",
    _I,
)
_BESIDE_OPTIMIZER = re.compile(
    r"zero_?grad|clip|(?:load|save|init|build|create|set_?up|offload|reload|wrap|state)", _I
)
_MICRO = re.compile(
    r"micro[\W_]?(?:batch|step|iter)|(?<![a-z])mbs?(?![a-z])|accum(?:ulat\w*)?(?![a-z])|sub[\W_]?(?:batch|step)",
    _I,
)
_LAYER = re.compile(r"layers?(?![a-z])|(?<![a-z])blocks?(?![a-z])|(?-i:Block(?![a-z]))|(?<![a-z])h\.#", _I)
_PART = re.compile(
    r"(?<![a-z])loss(?:es)?(?![a-z])|criterion|cross_?entropy|attention|attn|(?<![a-z])(?:mlp|ffn|moe|experts?)"
    r"|embed|(?:en|de)coder|(?:all|reduce)[_ -]?(?:reduce|gather|scatter|to[_ -]?all)"
    r"|zero_?grad|clip",
    _I,
)
_DATA = re.compile(
    r"data[_ -]?load|loader|(?:next|get|load|fetch|copy)[_ -]?(?:batch|data)|prefetch"
    r"|(?<![a-z])(?:h2d|htod)(?![a-z])|to[_ ]device",
    _I,
)

_WARM_UP = re.compile(
    r"warm[\W_]?(?:up|ing)|sanity|dry[\W_]?run|autotun|(?<![a-z])compil(?:e|ing|ation)(?![a-z])", _I
)
_EVALUATION = re.compile(r"(?<![a-z])(?:eval|evaluat\w*|validat\w*|val|test|testing)(?![a-z])", _I)
_BENCHMARK = re.compile(r"bench(?:mark\w*)?(?![a-z])|(?<![a-z])(?:timed|timing|profiled)(?![a-z])", _I)

TRAINING, BENCHMARK, EVALUATION, WARM_UP = range(4)
"""What the steps of a name belong to: the run itself, or a part of it that stands apart, the least last."""


def is_numbered_step(name: str, *, varies: bool = False) -> bool:
    """Return whether a text says step or iteration, and its number.

    Parameters
    ----------
    varies : bool
        Whether each instance has another number: then it may stand anywhere in the text.
    """
    return bool(_NUMBERED_STEP.search(name)) or (varies and "#" in name and bool(_STEP.search(name)))


def is_optimizer(name: str) -> bool:
    """Return whether a text names the optimizer's step, not what stands around it."""
    return (
        bool(_OPTIMIZER.search(name))
        and not _BESIDE_OPTIMIZER.search(name)
        and not (_FORWARD.search(name) or _BACKWARD.search(name))
    )


def is_part(name: str, *, numbered: bool) -> bool:
    """Return whether a text names a part of a step: a phase, a micro-batch, a layer, the data, the loss.

    Parameters
    ----------
    numbered : bool
        Whether it is a numbered step: ``step 3, loss 2.3`` is one, ``step 3 forward`` and ``micro-step 3``
        are parts.
    """
    phases = [bool(rule.search(name)) for rule in (_FORWARD, _BACKWARD, _OPTIMIZER)]
    if all(phases):
        return False
    if numbered and phases[0] and phases[1]:
        return False
    parts = (_MICRO, _LAYER, _DATA) if numbered else (_MICRO, _LAYER, _DATA, _PART)
    return any(phases) or any(rule.search(name) for rule in parts)


def part_of_run(name: str) -> int:
    """Return what the steps of a name belong to: `TRAINING`, `BENCHMARK`, `EVALUATION` or `WARM_UP`."""
    for part, rule in ((WARM_UP, _WARM_UP), (EVALUATION, _EVALUATION), (BENCHMARK, _BENCHMARK)):
        if rule.search(name):
            return part
    return TRAINING
