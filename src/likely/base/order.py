"""The natural order of labels: what words, numbers and brackets say by themselves.

An order is found only where all labels say it: words of one scale ("never", "sometimes",
"often"), labels that begin with numbers ("1 - low"), brackets of numbers ("18-24", "65+") or
grades. Unknown words have no order; none is guessed.
"""

import re
from collections.abc import Sequence

SCALES: tuple[tuple[str, ...], ...] = (
    (
        "none|no|nil|absent", "minimal|very very low", "extremely low|lowest", "very low",
        "low|lo|light|slight|mild", "low medium|medium low|below average|lower middle",
        "medium|med|mid|middle|moderate|average|normal",
        "medium high|high medium|above average|upper middle",
        "high|hi|strong|heavy|severe", "very high|very severe|critical",
        "extremely high|highest|extreme",
    ),
    (
        "never", "almost never|hardly ever|very rarely", "rarely|seldom",
        "occasionally|once in a while", "sometimes", "fairly often",
        "often|frequently|regularly", "usually|very often|mostly",
        "almost always|nearly always", "always",
    ),
    (
        "never", "yearly|annually", "quarterly", "monthly", "weekly", "daily", "hourly",
    ),
    (
        "strongly disagree|completely disagree|totally disagree", "disagree",
        "somewhat disagree|slightly disagree|mildly disagree|tend to disagree",
        "neutral|neither|undecided|neither agree nor disagree|unsure|not sure",
        "somewhat agree|slightly agree|mildly agree|tend to agree", "agree",
        "strongly agree|completely agree|totally agree",
    ),
    (
        "very dissatisfied|extremely dissatisfied", "dissatisfied|unsatisfied",
        "somewhat dissatisfied|slightly dissatisfied",
        "neutral|neither|neither satisfied nor dissatisfied",
        "somewhat satisfied|slightly satisfied", "satisfied",
        "very satisfied|extremely satisfied",
    ),
    (
        "very unhappy", "unhappy|not happy|not too happy", "neutral|so so",
        "pretty happy|somewhat happy|fairly happy", "happy", "very happy",
    ),
    (
        "very unlikely|extremely unlikely", "unlikely", "somewhat unlikely",
        "neutral|neither", "somewhat likely", "likely", "very likely|extremely likely",
    ),
    (
        "not at all|not important|unimportant", "slightly|slightly important|a little",
        "somewhat|somewhat important|a bit", "moderately|moderately important",
        "quite|important|quite a bit", "very|very important|very much|a lot",
        "extremely|extremely important|completely",
    ),
    (
        "terrible|awful|horrible", "very bad|very poor", "bad|poor|weak|unsatisfactory",
        "below average", "fair|ok|okay|acceptable|sufficient|satisfactory|adequate|passable",
        "average|medium|typical|neutral", "above average", "good", "very good",
        "great|ideal|excellent|premium|outstanding|superb|exceptional",
    ),
    (
        "much worse", "worse|deteriorated", "slightly worse|somewhat worse",
        "same|unchanged|about the same|no change|stable",
        "slightly better|somewhat better", "better|improved", "much better|much improved",
    ),
    (
        "xxxs", "xxs|extra extra small", "xs|extra small|very small|tiny", "s|small|little",
        "m|medium|mid|med", "l|large|big", "xl|extra large|very large|huge",
        "xxl|2xl|extra extra large", "xxxl|3xl", "4xl",
    ),
    (
        "very short", "short", "medium|average|normal", "tall|long", "very tall|very long",
    ),
    (
        "very young", "infant|baby", "child|young", "teenager|teen|adolescent",
        "young adult", "adult|middle aged|middle age", "senior|old|elderly", "very old",
    ),
    ("very cold|freezing", "cold", "cool", "mild|moderate", "warm", "hot", "very hot"),
    ("very slow", "slow", "medium|moderate|average|normal", "fast|quick", "very fast"),
    ("very easy", "easy", "medium|moderate|normal|intermediate", "hard|difficult",
     "very hard|very difficult", "expert|insane"),
    ("novice|beginner|entry|entry level", "junior|elementary|advanced beginner",
     "intermediate|competent|mid|mid level", "senior|advanced|proficient|experienced",
     "expert|lead|principal|master"),
    ("very cheap", "cheap|inexpensive", "medium|moderate|average", "expensive|pricey",
     "very expensive"),
    ("very liberal|extremely liberal|extreme liberal", "liberal",
     "slightly liberal|somewhat liberal", "moderate|middle of the road",
     "slightly conservative|somewhat conservative", "conservative",
     "very conservative|extremely conservative|extreme conservative"),
    ("underweight|insufficient weight", "normal|normal weight|healthy weight",
     "overweight", "obese|obesity"),
    ("overweight level i", "overweight level ii", "obesity type i", "obesity type ii",
     "obesity type iii"),
    ("bronze", "silver", "gold", "platinum", "diamond"),
    ("lower|lower class|working class", "middle|middle class", "upper|upper class"),
    ("stage i|stage 1", "stage ii|stage 2", "stage iii|stage 3", "stage iv|stage 4"),
    ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii"),
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    ("first|1st", "second|2nd", "third|3rd", "fourth|4th", "fifth|5th", "sixth|6th"),
    ("apply unlikely|unlikely", "somewhat likely", "very likely"),
    ("less than high school|no high school|some high school|primary|primary school",
     "high school|high school graduate|secondary|secondary school",
     "some college|associate|associates degree|associate degree",
     "bachelor|bachelors|bachelors degree|college|college graduate|undergraduate",
     "master|masters|masters degree|graduate|postgraduate",
     "doctorate|phd|doctoral"),
)  # fmt: skip
"""Scales from the lowest level to the highest, with the words for each level."""
GRADES = ("F", "E", "D", "C", "B", "A")
GRADE_NAMES = ("grade", "mark", "rating", "score", "credit", "class")
"""Words in the name of a column whose letters are grades."""
ORDER_NAMES = (
    "rating", "rate", "score", "star", "stars", "satisf", "likert", "level", "grade",
    "stage", "severity", "quality", "agree", "likely", "rank", "opinion", "health",
    "happy", "happiness", "importance", "difficulty", "tier", "frequency", "education",
)  # fmt: skip
"""Beginnings of words in the name of a column whose few whole numbers are levels."""
MIN_LEVELS, MAX_LEVELS = 3, 11


def natural_order(labels: Sequence[str], name: str = "") -> tuple[str, ...] | None:
    """The labels from lowest to highest, or None where their order is not known.

    Args:
        labels: different texts, at least three.
        name: of the column, which says whether letters are grades.
    """
    labels = [str(label) for label in labels]
    if len(labels) < MIN_LEVELS:
        return None
    for rank in (_numbered, _brackets, lambda labels: _grades(labels, name), _scale):
        found = rank(labels)
        if found is not None and len(set(found)) == len(labels):
            return tuple(label for _, label in sorted(zip(found, labels, strict=True)))
    return None


def names_levels(name: str) -> bool:
    """Whether the name of a column says that its whole numbers are levels of a scale."""
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    return any(word.startswith(ORDER_NAMES) for word in words)


def _plain(label: str) -> str:
    """Lower case, single spaces, no punctuation."""
    return " ".join(re.sub(r"[^a-z0-9+]+", " ", label.lower()).split())


def _scale(labels: Sequence[str]) -> list[float] | None:
    """Ranks of words on the first scale that has all of them."""
    words = [_plain(label) for label in labels]
    for levels in SCALES:
        rank = {word: i for i, level in enumerate(levels) for word in level.split("|")}
        if all(word in rank for word in words):
            return [float(rank[word]) for word in words]
    return None


def _numbered(labels: Sequence[str]) -> list[float] | None:
    """Ranks of labels that begin with a number and go on in words: "1 - low"."""
    found = [re.match(r"^\s*\(?(\d{1,3})\s*[.:)=_–-]+\s*[^\W\d]", x) for x in labels]
    return [float(m[1]) for m in found if m] if all(found) else None


def _brackets(labels: Sequence[str]) -> list[float] | None:
    """Lower ends of brackets of numbers: "<18", "18-24", "25 to 34", "65+"."""
    number = r"[$€£]?\s*(\d[\d,]*(?:\.\d+)?)\s*([kKmM]?)"
    low, several = [], False
    for label in labels:
        text = label.strip().lower()
        between = re.fullmatch(rf"{number}\s*(?:-|–|to)\s*{number}", text)
        below = re.fullmatch(rf"(?:<=?|under|below|less than|up to)\s*{number}", text)
        above = re.fullmatch(
            rf"(?:>=?|over|above|more than)\s*{number}|"
            rf"{number}\s*(?:\+|(?:and|or) (?:more|over|above|older))",
            text,
        )
        if between:
            several = True
            low.append(_value(between[1], between[2] or between[4]))
        elif below:
            low.append(float("-inf"))
        elif above:
            low.append(_value(above[1] or above[3], above[2] or above[4]))
        else:
            return None
    return low if several else None


def _value(digits: str, unit: str) -> float:
    scale = {"": 1.0, "k": 1e3, "m": 1e6}[unit.lower()]
    return float(digits.replace(",", "")) * scale


def _grades(labels: Sequence[str], name: str) -> list[float] | None:
    """Ranks of grades from F to A; plain letters need a name that says so, or an F."""
    found = [re.fullmatch(r"([A-F])([+−-]?)", label.strip()) for label in labels]
    if not all(found):
        return None
    letters, signs = ({m[i] for m in found if m} for i in (1, 2))
    named = any(word in name.lower() for word in GRADE_NAMES)
    american = {"A", "B", "C", "D", "F"} <= letters and "E" not in letters
    if not (named or american or len(signs) > 1):
        return None
    shift = {"+": 1, "": 0, "-": -1, "−": -1}
    return [3.0 * GRADES.index(m[1]) + shift[m[2]] for m in found if m]
