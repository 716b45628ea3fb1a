"""Damage to bytes, of any file."""


def flip(random, content):
    """Change some bits, most near one another or in the first pages."""
    near = random.random() < 0.5
    at = random.randrange(len(content))
    for _ in range(random.choice((1, 1, 4, 16, 64))):
        place = (at + random.randrange(64)) % len(content) if near else random.randrange(len(content))
        content[place] ^= 1 << random.randrange(8)


def overwrite(random, content):
    """Write zeros, ones or noise over a stretch, often a whole page."""
    size = min(random.choice((1, 8, 100, 4096, 4096, 16384)), len(content))
    at = random.randrange(0, len(content), 4096) if size >= 4096 else random.randrange(len(content))
    what = random.choice((b"\0", b"\xff", None))
    size = min(size, len(content) - at)
    content[at : at + size] = random.randbytes(size) if what is None else what * size


def move(random, content):
    """Copy a stretch over another."""
    size = min(random.choice((4, 8, 64, 4096)), len(content))
    source, target = (random.randrange(len(content) - size + 1) for _ in "st")
    content[target : target + size] = content[source : source + size]


def cut(random, content):
    """Cut the end off, or a stretch out."""
    at = random.randrange(len(content))
    del content[at : len(content) if random.random() < 0.5 else at + random.randrange(1, 5000)]


def put_number(random, content):
    """Write a number that means trouble where one may stand."""
    size = random.choice((1, 2, 4, 8))
    at = random.randrange(max(len(content) - size, 1))
    number = random.choice((0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1))
    content[at : at + size] = number.to_bytes(size, random.choice(("little", "big")))


ALL = (flip, flip, overwrite, move, cut, put_number)


def in_bytes(random, file):
    """Damage a file's bytes in one to three ways."""
    content = bytearray(file.read_bytes())
    for _ in range(random.choice((1, 1, 2, 3))):
        if content:
            random.choice(ALL)(random, content)
    file.write_bytes(content)
