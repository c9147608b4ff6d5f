"""Sentences from templates: their labels, their facts, and what they never say."""

import pytest

from likely import data
from likely.core import InputError
from likely.data.corpora.templates import PHRASINGS

CORPUS = data.templates(600, random_state=0)


def test_the_seed_decides_everything():
    assert data.templates(600, random_state=0) == CORPUS
    assert data.templates(600, random_state=1).texts != CORPUS.texts


def test_tags_are_entities_of_the_world():
    people = {fact.subject for fact in CORPUS.facts if fact.relation == "sport"}
    names = {
        "PER": people,
        "LOC": {*CORPUS.answers("home"), *CORPUS.answers("office")},
        "ORG": {fact.subject for fact in CORPUS.facts if fact.relation == "office"},
    }
    for text, words, tags in zip(*CORPUS[:3], strict=True):
        assert text == " ".join(words).replace(" .", ".")
        assert len(words) == len(tags)
        spans: list[list[str]] = []
        for word, tag in zip(words, tags, strict=True):
            if tag.startswith("B-"):
                spans.append([tag[2:], word])
            elif tag.startswith("I-"):
                assert spans[-1][0] == tag[2:]
                spans[-1].append(word)
            else:
                assert word.islower() or word == "."
        assert spans
        for kind, *name in spans:
            known = names[kind]
            meeting = kind == "LOC" and " met " in text  # anywhere
            assert " ".join(name) in known or meeting


def test_sentences_state_facts_and_never_the_unseen_ones():
    said = set(CORPUS.texts)
    seen = {f"{fact.prompt} {fact.answer}." for fact in CORPUS.facts if fact.seen}
    unseen = {f"{fact.prompt} {fact.answer}." for fact in CORPUS.facts if not fact.seen}
    assert unseen
    assert not said & unseen
    stated = [text for text in CORPUS.texts if text in seen]
    assert len(stated) > 0.6 * len(CORPUS.texts)
    relations = {fact.relation for fact in CORPUS.facts}
    assert relations == set(PHRASINGS)
    firsts = [fact.prompt for fact in CORPUS.facts if fact.relation == "surname"]
    assert len(set(firsts)) == len(firsts)  # "first name" has one answer


@pytest.mark.parametrize(
    "options", [{"n_people": 1}, {"n_places": 1}, {"n_organisations": 0}]
)
def test_worlds_without_room_are_refused(options):
    with pytest.raises(InputError, match="give at least"):
        data.templates(3, **options)
