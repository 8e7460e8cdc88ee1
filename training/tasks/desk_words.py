"""The words that desk tasks are filled with: people, files, notes, numbers, all drawn from one seeded generator.

The lists are long enough that a model must copy what the task says and cannot learn the answers by heart. Everything
is plain letters and digits that a person could type on any keyboard.
"""

from __future__ import annotations

from random import Random


def words(text: str) -> tuple[str, ...]:
    """The words of a text: a list that can be read in few lines."""
    return tuple(text.split())


FIRST_NAMES = words(
    "Anna Ben Carla David Emma Felix Grace Hugo Iris Jonas Kira Leo Maria Nina Oscar Paula Quinn Rosa Simon Tara "
    "Umar Vera Walter Xenia Yusuf Zoe Alice Boris Clara Diego Elena Frank Gina Henry Ivan Julia Karim Laura Marco "
    "Nora Oliver Petra Ralf Sara Tom Ursula Victor Wendy Yara Amir Bella Chen Dora Erik Fatima George Hana"
)
LAST_NAMES = words(
    "Adams Baker Carter Dixon Evans Foster Garcia Hughes Irving Jensen Keller Lopez Meyer Nolan Olsen Parker "
    "Quist Rossi Smith Turner Ulrich Vargas Weber Young Ziegler Brown Clark Davis Fischer Green Harris Jones "
    "Kowalski Lambert Moreau Novak Ortiz Peters Reyes Silva Tanaka Vogel Walker Bauer Costa Duval Ferrari Hansen"
)
TOPICS = words(
    "Invoices Photos Letters Travel Recipes Music Budget Garden School Taxes Contracts Health Sports Holiday "
    "Archive Drafts Reports Orders Plans Projects Movies Books Pictures Receipts Insurance Family Office Clients "
    "Designs Lessons Notes Tickets Menus Surveys Minutes Posters Samples Stories Maps Bills Games Museum Bakery "
    "Library"
)
NOUNS = words(
    "meeting report printer ticket parcel garden bicycle camera kitchen window bottle jacket market concert "
    "dentist lesson invoice station library airport museum battery blanket candle carpet basket engine ladder "
    "letter mirror pillow rocket saddle teapot tunnel wallet yogurt zipper apple bread cheese coffee dinner "
    "flower guitar hammer island jungle keyboard lemon mango needle orange pencil"
)
VERBS = words(
    "Call Ask Pay Visit Thank Email Meet Remind Invite Help Follow Answer Find Book Order Check Bring Send Pick "
    "Plan Clean Fix Print Buy Sell Move Open Close Read Write Count Paint Sort Wash"
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CITIES = words(
    "Berlin Madrid Oslo Paris Rome Vienna Lisbon Dublin Athens Prague Warsaw Helsinki Zurich Geneva Milan Lyon "
    "Porto Boston Denver Austin Seattle Toronto Sydney Perth Kyoto Osaka Lima Quito Cairo Delhi"
)


def full_name(rng: Random) -> str:
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def email(rng: Random) -> str:
    return f"{rng.choice(FIRST_NAMES).lower()}{rng.randint(1, 99)}@{rng.choice(NOUNS)}.com"


def sentence(rng: Random) -> str:
    """A short note of two to five words, such as a person would leave for themselves."""
    verb, noun = rng.choice(VERBS), rng.choice(NOUNS)
    return rng.choice(
        (
            f"{verb} {rng.choice(FIRST_NAMES)} on {rng.choice(DAYS)}",
            f"{verb} the {noun}",
            f"{verb} the {noun} on {rng.choice(DAYS)}",
            f"{verb} {rng.randint(2, 99)} {noun}s",
            f"{verb} {rng.choice(FIRST_NAMES)} at {rng.randint(1, 12)} pm",
            f"{rng.choice(CITIES)} {noun} {rng.randint(10, 999)}",
            f"{rng.choice(FIRST_NAMES)} likes the {noun}",
        )
    )


def sentences(rng: Random, count: int) -> list[str]:
    """Different sentences."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[sentence(rng)] = None
    return list(found)


def folders(rng: Random, count: int) -> list[str]:
    """Different topics, so that no name is a part of another."""
    return rng.sample(TOPICS, count)


def text_files(rng: Random, count: int, longest: int = 12) -> list[str]:
    """Different file names of up to `longest` characters; no stem is a part of another."""
    return [f"{noun}.txt" for noun in rng.sample([noun for noun in NOUNS if len(noun) + 4 <= longest], count)]
