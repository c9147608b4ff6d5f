"""Three corpora that byte pairs are learned from, and texts that they are tried on."""

VERSE = """\
Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
  So long as men can breathe or eyes can see,
  So long lives this, and this gives life to thee.
"""
SCRIPTS = (
    "Die Größe der Straße überraschte die Gäste; größere Straßen gäbe es.",
    "Привет, мир! Приветствую весь мир и весь миру мир.",
    "日本語の文と日本の言葉。日本語は日本で話される言葉です。",
    "naïve café — “résumé” … e\u0301te\u0301 👩\u200d👩\u200d👧 👩\u200d👧 ١٢٣ ½ x²",
    "  tabs\tand\u00a0spaces \u2003 and\r\n\r\nlines   ",
)
RUNS = (
    "aaaaaaaaaaaaaaa aaaa aaab",
    "abababababab baba abab",
    "ACGTTGCAACGTACGTTTT" * 3,
)
CORPORA: dict[str, list[str]] = {
    "verse": VERSE.splitlines(keepends=True),
    "scripts": list(SCRIPTS),
    "runs": list(RUNS),
}
TRIED = [
    "",
    " ",
    "Shall the summer's day declines?",
    "don't we'll they're 12345 3.14 <mask>!!",
    "Größe Привет 日本語 👩‍👧 \x00\x1f\x7f\u0085\u200b\ufeff",
    "aaaaaaa abab \t\n\n x",
    "ACGTACGTTTT" * 4,
]
