"""Sentences about made-up persons, places and organisations, whose truth is known.

A small world is drawn: who lives where, plays what and works for whom, and where each
organisation has its offices. Sentences state its facts in several phrasings. Every word has a
label for named entities (B-PER begins the name of a person, I-PER goes on with it, O is no
name). For every fourth person the last phrasing of each fact is never used in the sentences, so
that one can ask for what was read in other words only.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from likely.core.checks import InputError
from likely.data.dataset import generator

SPORTS = ("tennis", "football", "chess", "hockey", "golf", "rugby")
PHRASINGS: dict[str, tuple[str, ...]] = {
    "surname": ("{first} {last} says hello .",),
    "sport": (
        "{PER} plays {sport} .",
        "everybody knows that {PER} loves {sport} .",
        "the game of {PER} is {sport} .",
    ),
    "home": (
        "{PER} lives in {LOC} .",
        "you can visit {PER} in {LOC} .",
        "the home of {PER} is {LOC} .",
    ),
    "employer": (
        "{PER} works for {ORG} .",
        "every morning {PER} walks to {ORG} .",
        "the employer of {PER} is {ORG} .",
    ),
    "office": (
        "{ORG} has offices in {LOC} .",
        "people of {ORG} meet in {LOC} .",
        "the city of {ORG} is {LOC} .",
    ),
}
"""Of each relation; what is asked for comes last, before the full stop."""
MEETINGS = ("{PER} met {PER} in {LOC} .", "{PER} and {PER} left {ORG} .")
"""Sentences that are no facts: anybody may have met anybody."""
MEETINGS_SHARE = 0.1
UNSEEN_EVERY = 4
"""Of so many persons and organisations one is not written about in the last phrasing."""
CONSONANTS, VOWELS, ENDINGS = "bdfgklmnprstvz", "aeiou", "nrslk"
KINDS = ("Bank", "Group", "Works")
"""Last words of the names of organisations."""


class Fact(NamedTuple):
    """A fact in one phrasing: the beginning of a sentence, and how it goes on."""

    subject: str
    relation: str
    """"surname", "sport", "home", "employer" or "office"."""
    prompt: str
    """The sentence up to the answer, such as "Tamir Velok plays"."""
    answer: str
    """What follows, such as "tennis"."""
    seen: bool
    """Whether this phrasing of the fact may be among the sentences."""


class Templates(NamedTuple):
    """Sentences with a label for each word, and the facts that they state."""

    texts: list[str]
    words: list[list[str]]
    """The words of each sentence; the full stop is one."""
    tags: list[list[str]]
    """(like `words`) "O", or "B-" and "I-" with "PER", "LOC" or "ORG"."""
    facts: list[Fact]

    def answers(self, relation: str) -> list[str]:
        """All answers to a relation, sorted: the options of a classification.

        Args:
            relation: such as "sport".
        """
        return sorted({fact.answer for fact in self.facts if fact.relation == relation})


def templates(
    n: int = 1000,
    *,
    n_people: int = 40,
    n_places: int = 8,
    n_organisations: int = 8,
    random_state: Any = None,
) -> Templates:
    """Sentences about made-up persons, places and organisations.

    Args:
        n: how many sentences.
        n_people: persons, each of whom has a first and a last name of his own.
        n_places: places.
        n_organisations: organisations.
        random_state: seed or NumPy generator.
    """
    for name, count in (("n_people", n_people), ("n_places", n_places)):
        if count < 2:
            raise InputError(f"{name} is {count}; give at least 2.")
    if n_organisations < 1:
        raise InputError(f"n_organisations is {n_organisations}; give at least 1.")
    rng = generator(random_state)
    world = _World(rng, n_people, n_places, n_organisations)
    stated = [statement for statement in world.statements() if statement.fact.seen]
    sentences = [
        world.meeting(rng)
        if rng.random() < MEETINGS_SHARE
        else stated[rng.integers(len(stated))].sentence
        for _ in range(n)
    ]
    words = [[word for word, _ in sentence] for sentence in sentences]
    tags = [[tag for _, tag in sentence] for sentence in sentences]
    facts = [statement.fact for statement in world.statements()]
    return Templates([_text(row) for row in words], words, tags, facts)


Sentence = list[tuple[str, str]]
"""Words, each with its tag."""


class _Statement(NamedTuple):
    fact: Fact
    sentence: Sentence


class _World:
    """Names, and who lives where, plays what, and works for whom."""

    def __init__(self, rng: Any, n_people: int, n_places: int, n_organisations: int):
        fresh = _names(rng)
        self.people = [(next(fresh), next(fresh)) for _ in range(n_people)]
        self.places = [next(fresh) for _ in range(n_places)]
        self.organisations = [
            f"{next(fresh)} {KINDS[k % len(KINDS)]}" for k in range(n_organisations)
        ]
        self.sport = rng.integers(len(SPORTS), size=n_people)
        self.home = rng.integers(n_places, size=n_people)
        self.employer = rng.integers(n_organisations, size=n_people)
        self.office = rng.integers(n_places, size=n_organisations)

    def statements(self) -> list[_Statement]:
        """All facts in all phrasings."""
        found = []
        for k, (first, last) in enumerate(self.people):
            filled = {
                "first": first,
                "last": last,
                "PER": f"{first} {last}",
                "sport": SPORTS[self.sport[k]],
                "ORG": self.organisations[self.employer[k]],
                "LOC": self.places[self.home[k]],
            }
            for relation in ("surname", "sport", "home", "employer"):
                found += _statements(relation, filled["PER"], filled, k)
        for k, name in enumerate(self.organisations):
            filled = {"ORG": name, "LOC": self.places[self.office[k]]}
            found += _statements("office", name, filled, k)
        return found

    def meeting(self, rng: Any) -> Sentence:
        """A sentence about two persons."""
        template = MEETINGS[rng.integers(len(MEETINGS))]
        pair = iter(rng.choice(len(self.people), 2, replace=False))
        place = self.places[rng.integers(len(self.places))]
        firm = self.organisations[rng.integers(len(self.organisations))]
        names = {"LOC": lambda: place, "ORG": lambda: firm}
        names["PER"] = lambda: " ".join(self.people[next(pair)])
        return _filled(template, names)


def _statements(
    relation: str, subject: str, filled: dict[str, str], number: int
) -> Iterator[_Statement]:
    """One fact in its phrasings."""
    names = {name: (lambda value=value: value) for name, value in filled.items()}
    phrasings = PHRASINGS[relation]
    for i, template in enumerate(phrasings):
        asked = "{last}" if relation == "surname" else template.split()[-2]
        before = _filled(template.partition(asked)[0].strip(), names)
        unseen = i and i == len(phrasings) - 1 and number % UNSEEN_EVERY == 0
        prompt = _text([word for word, _ in before])
        fact = Fact(subject, relation, prompt, filled[asked[1:-1]], not unseen)
        yield _Statement(fact, _filled(template, names))


def _filled(template: str, names: dict[str, Callable[[], str]]) -> Sentence:
    """The words of a template with names in their places, and the tags of these."""
    found: Sentence = []
    for part in template.split():
        name = part[1:-1] if part.startswith("{") else ""
        words = names[name]().split() if name else [part]
        kind = {"first": "PER", "last": "PER"}.get(name, name)
        for k, word in enumerate(words):
            inside = k or name == "last"
            tagged = kind in ("PER", "LOC", "ORG")
            found.append((word, f"{'I' if inside else 'B'}-{kind}" if tagged else "O"))
    return found


def _text(words: list[str]) -> str:
    """Words as one writes them: no space before the full stop."""
    return " ".join(words).replace(" .", ".")


def _names(rng: Any) -> Iterator[str]:
    """Made-up names, no two alike."""
    used: set[str] = set()
    while True:
        parts = [
            CONSONANTS[rng.integers(len(CONSONANTS))]
            + VOWELS[rng.integers(len(VOWELS))]
            for _ in range(int(rng.integers(2, 4)))
        ]
        name = ("".join(parts) + ENDINGS[rng.integers(len(ENDINGS))]).capitalize()
        if name not in used:
            used.add(name)
            yield name
