"""The commands that damaged files are read with."""

from tests.fuzz.trial import fault, listing, run


def read(random, path, folder):
    """Read a file by the report and, at times, by other commands; say what is wrong, "" where nothing is."""
    before = listing(path)
    asked = [("report", path, "--json")]
    asked += random.choice(
        (
            [("shot", path, "-o", folder / "picture.png", "--width", 640)],
            [("doctor", path)],
            [("events", path, "--row", "*", "--limit", 5), ("report", path)],
            [],
        )
    )
    for words in asked:
        wrong = fault(run(*words))
        if wrong:
            return f"{words[0]}: {wrong}"
    return "" if listing(path) == before else "the file was changed"
