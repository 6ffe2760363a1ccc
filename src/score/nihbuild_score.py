"""The matching rule of `nihbuild score`, for evaluators written in Python.

    scorer = Scorer(words)                  # words: the JSON of a release's word lists
    scorer.score(output, row)               # {"exact": 1, "any": 1} or {"existence": 0}

`row` is a row of the release's Parquet files as a dict; COLUMNS are those that are read. Both programs are run over the same table
of cases and give the same result. Standard library only.
"""

import unicodedata

COLUMNS = (
    "family", "task", "source_task", "language", "question_language", "strategy", "prompt_kind", "question", "answers",
    "answer_variants", "answers_by_language", "expected",
)
RULES = ("sound", "contains", "released")

# ---------------------------------------------------------------------------------------------------------------------
# The form in which texts are compared

_GROUP = "\ufdd0"
_VIRAMA = "\u094d"
_ZEROS = (
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
    0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
    0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0x1E950,
)
_DIGITS = {chr(zero + n): chr(48 + n) for zero in (0x30, 0xFF10) + _ZEROS for n in range(10)}
_TONED = (
    "\u00f2\u00f3\u1ecf\u00f5\u1ecd", "\u00e0\u00e1\u1ea3\u00e3\u1ea1", "\u00e8\u00e9\u1ebb\u1ebd\u1eb9",
    "\u00f9\u00fa\u1ee7\u0169\u1ee5", "\u1ef3\u00fd\u1ef7\u1ef9\u1ef5",
)


def _within(*ranges):
    table = set()
    for r in ranges:
        first, last = r if isinstance(r, tuple) else (r, r)
        table.update(chr(c) for c in range(first, last + 1))
    return frozenset(table)


_INVISIBLE = _within(
    0xAD, 0x34F, 0x61C, (0x180B, 0x180E), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), 0xFEFF,
    (0xE0100, 0xE01EF),
)
_RAISED = _within(0xB2, 0xB3, 0xB9, (0xBC, 0xBE), (0x2070, 0x2089), (0x2150, 0x2189), (0x2460, 0x249B))
_MARKS = {}
for _set, _to in (
    (_within(0x60, 0xB4, 0x2B9, (0x2BB, 0x2BD), 0x2C8, (0x2018, 0x201B), 0x2032, 0x2035, 0x2039, 0x203A, 0xFF07, 0xFF40), "'"),
    (
        _within(
            0xAB, 0xBB, (0x201C, 0x201F), 0x2033, 0x2036, (0x3008, 0x300F), (0x301D, 0x301F), (0xFE41, 0xFE44), 0xFF02, 0xFF62,
            0xFF63,
        ),
        '"',
    ),
    (_within((0x2010, 0x2015), 0x2043, 0x2212, 0x2E3A, 0x2E3B, 0xFE31, 0xFE32, 0xFE58, 0xFE63, 0xFF0D), "-"),
    (_within(0x2022, 0x2027, 0x2219, 0x22C5, 0x30FB, 0xFF65), "\u00b7"),
):
    for _c in _set:
        _MARKS[_c] = _to
_DROPPED = _within(
    (0x610, 0x61A), 0x640, (0x64B, 0x65F), 0x670, (0x6D6, 0x6DC), (0x6DF, 0x6E4), 0x6E7, 0x6E8, (0x6EA, 0x6ED), 0x93C
)
_FOLDED = {"\u00df": "ss", "\u1e9e": "ss", "\u03c2": "\u03c3", "\u0130": "i", "\u0131": "i", "\u0649": "\u064a", "\u06cc": "\u064a"}
_FOLDED.update({c: "\u0627" for c in "\u0622\u0623\u0625\u0671\u0672\u0673"})
_FOLDED.update({c: "\u0621" for c in "\u0624\u0626"})
_FOLDED.update({c: "\u0647" for c in "\u0629\u06c0\u06c1\u06c2\u06c3\u06be\u06d5"})
_FOLDED.update({"\u06a9": "\u0643", "\u066a": "%", "\u066b": ".", "\u066c": ","})
_FOLDED.update({"\u0929": "\u0928", "\u0931": "\u0930", "\u0934": "\u0933", "\u0901": "\u0902"})
_IDEOGRAPHS = (
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3040, 0x312F), (0x31A0, 0x31BF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF),
)


def _is_ideograph(c):
    n = ord(c)
    return n >= 0x2E80 and any(first <= n <= last for first, last in _IDEOGRAPHS)


def _is_devanagari(c):
    return "\u0900" <= c <= "\u0963" or "\u0971" <= c <= "\u097f"


def _is_mark(c):
    return unicodedata.category(c)[0] == "M"


def _is_letter(c):
    return unicodedata.category(c)[0] == "L" or unicodedata.category(c) == "Nl"


def _ascii_digit(c):
    return "0" <= c <= "9"


def _prepared(text):
    chars = []
    last_plain = last_raised = False
    for c in text:
        if c <= "\x7f" and c != "`":
            pass
        elif c in _INVISIBLE:
            continue
        elif c in "\u00a0\u2007\u2009\u202f":
            c = _GROUP
        elif c == _GROUP:
            c = " "
        else:
            c = _MARKS.get(c, c)
        raised, plain = c in _RAISED, c in _DIGITS
        if raised and last_plain or plain and last_raised:
            chars.append(" ")
        last_plain, last_raised = plain, raised
        chars.append(c)
    return "".join(chars)


def _fold(c, out):
    if c <= "\x7f" and c.isalnum():
        out.append(c.lower())
    elif c.isspace() or unicodedata.category(c) == "Cc":
        if not out or out[-1] == " ":
            pass
        elif out[-1] == _GROUP:
            out[-1] = " "
        else:
            out.append(" ")
    elif c == _GROUP:
        if out and out[-1] not in (" ", _GROUP):
            out.append(_GROUP)
    elif c == "\u0307" and out and out[-1] == "i":
        pass
    elif c in _DROPPED:
        pass
    elif c in _FOLDED:
        out.extend(_FOLDED[c])
    elif c in _DIGITS:
        out.append(_DIGITS[c])
    else:
        out.extend(_MARKS.get(c, c).lower())


def normalize(text):
    """A text as answers are compared: equal where two writers mean the same words."""
    if text.isascii() and not any(c in text for c in "`0123456789"):
        return _plain(text)
    chars = []
    for c in unicodedata.normalize("NFKC", _prepared(text)):
        _fold(c, chars)
    chars = unicodedata.normalize("NFC", "".join(chars))
    out = []
    at = 0
    while at < len(chars):
        at += _rewrite(chars, at, out)
    return "".join(out).rstrip(" ")


def _plain(text):
    words = "".join(" " if c <= " " or c == "\x7f" else c for c in text.lower())
    return " ".join(word for word in words.split(" ") if word)


def _rewrite(chars, at, out):
    c = chars[at]
    if _ascii_digit(c):
        return _number(chars, at, out)
    n1 = chars[at + 1] if at + 1 < len(chars) else " "
    n2 = chars[at + 2] if at + 2 < len(chars) else " "
    last = out[-1][-1] if out else ""
    if c == " " or c == _GROUP:
        percent = n1 == "%" and last != "" and _ascii_digit(last)
        if not percent and not _is_ideograph(n1) and not (last and _is_ideograph(last)):
            out.append(" ")
    elif c in "\u0919\u091e\u0923\u0928\u092e" and n1 == _VIRAMA and ord(c) - 4 <= ord(n2) < ord(c):
        out.append("\u0902")
        return 2
    elif c == "\u092f" and n1 in "\u0940\u0947" and last and _is_devanagari(last) and last != _VIRAMA:
        out.append("\u0908" if n1 == "\u0940" else "\u090f")
        return 2
    else:
        vowels = _second_vowel(c, n1)
        if vowels and not _is_letter(n2) and not _is_mark(n2):
            out.append(vowels)
            return 2
        out.append(c)
    return 1


def _second_vowel(first, second):
    row = {"a": (0, "o", 1), "e": (0, "o", 2), "y": (3, "u", 4)}.get(second)
    if row is None:
        return None
    tone = _TONED[row[0]].find(first)
    return None if tone < 0 else row[1] + _TONED[row[2]][tone]


def _number(chars, begin, out):
    def run(at):
        end = at
        while end < len(chars) and _ascii_digit(chars[end]):
            end += 1
        return end - at

    groups = [(begin, run(begin))]
    marks = []
    end = begin + groups[0][1]
    while end < len(chars):
        mark = chars[end]
        length = run(end + 1) if end + 1 < len(chars) else 0
        if mark in ".,":
            goes_on = length > 0
        elif mark in ("'", _GROUP):
            goes_on = length == 3 and all(m == mark for m in marks) and _grouped(groups, True)
        else:
            goes_on = False
        if not goes_on:
            break
        marks.append(mark)
        groups.append((end + 1, length))
        end += 1 + length
    n = len(groups)

    def whole(count):
        return "".join(chars[at:at + length] for at, length in groups[:count])

    alike = all(m == marks[0] for m in marks)
    leads = chars[begin] != "0"
    if n == 1:
        out.append(whole(1))
    elif alike and _grouped(groups, False) and leads:
        out.append(whole(n))
    elif n == 2 or (
        all(m == marks[0] for m in marks[:n - 2]) and marks[n - 2] != marks[0] and _grouped(groups[:n - 1], False) and leads
    ):
        out.append(whole(n - 1) + "." + chars[groups[n - 1][0]:end])
    else:
        out.append(chars[begin:end])
    return end - begin


def _grouped(groups, begun):
    lengths = [length for _, length in groups]
    last = len(lengths) - 1
    inner = [all(length == size for length in lengths[1:last]) for size in (3, 2)]
    return lengths[0] <= 3 and (
        begun and last == 0 or last > 0 and lengths[last] == 3 and (inner[0] or inner[1] and lengths[0] <= 2)
    )


# ---------------------------------------------------------------------------------------------------------------------
# Words in a normalised text

_CLASSES = {}


def _class(c):
    """0 no word, 1 digit, 2 ideograph, 3 mark, 10 and above letters of a script."""
    known = _CLASSES.get(c)
    if known is None:
        known = _CLASSES[c] = _class_of(c)
    return known


def _class_of(c):
    if _ascii_digit(c):
        return 1
    if c <= "\x7f":
        return 10 if c.isalpha() else 0
    if _is_ideograph(c):
        return 2
    if _is_devanagari(c):
        return 13
    if "\u0300" <= c <= "\u036f":
        return 3
    if ("\u0600" <= c <= "\u06ff" or "\u0750" <= c <= "\u077f" or "\u08a0" <= c <= "\u08ff") and _is_letter(c):
        return 12
    category = unicodedata.category(c)[0]
    if category == "M":
        return 3
    if category not in "LN":
        return 0
    if "\x80" <= c <= "\u024f" or "\u1e00" <= c <= "\u1eff" or "\u2c60" <= c <= "\u2c7f" or "\ua720" <= c <= "\ua7ff":
        return 10
    if "\u0370" <= c <= "\u03ff" or "\u1f00" <= c <= "\u1fff":
        return 14
    if "\u0400" <= c <= "\u052f":
        return 15
    return 11


def _joined(before, after):
    a, b = _class(before), _class(after)
    if a in (0, 2):
        return False
    if b == 3 or a == 1 and b == 1:
        return True
    if a == 3 and b >= 10:
        return True
    return a >= 10 and a == b


def _edge(text, at):
    if at <= 0 or at >= len(text):
        return True
    return not _joined(text[at - 1], text[at]) and _number_ends(text, at)


def _number_ends(text, at):
    def digit(n):
        return 0 <= n < len(text) and _ascii_digit(text[n])

    def mark(n):
        return 0 < n < len(text) and text[n] in ".," and digit(n - 1) and digit(n + 1)

    if not (mark(at) or mark(at - 1)):
        return True
    right = 0
    n = at
    while digit(n) or mark(n):
        right += mark(n)
        n += 1
    left = 0
    n = at - 1
    while digit(n) or mark(n):
        left += mark(n)
        n -= 1
    return min(left, 2) + min(right, 2) > 1


def _begins(text, at, proclitics):
    if _edge(text, at):
        return True
    head = text[:at]
    return any(head.endswith(p) and _edge(text, at - len(p)) for p in proclitics)


def _ends(text, at, endings):
    return _edge(text, at) or any(text.startswith(e, at) and _edge(text, at + len(e)) for e in endings)


def _find(text, forms, proclitics, endings):
    """Hits (start, end, class, form) of forms [(form, class)] as whole words."""
    hits = []
    for form, kind in forms:
        at = text.find(form)
        while at >= 0:
            end = at + len(form)
            if _begins(text, at, proclitics) and _ends(text, end, endings):
                hits.append((at, end, kind, form))
            at = text.find(form, at + 1)
    return hits


def _longest(hits):
    """From left to right the longest of the hits that overlap; of equal ones the first given."""
    chosen = []
    for hit in sorted(hits, key=lambda hit: (hit[0], -hit[1])):
        if not chosen or hit[0] >= chosen[-1][1]:
            chosen.append(hit)
    return chosen


_STOPS = frozenset(".!?;|\u3002\u061b\u061f\u0964\u0965\u06d4")
_BOUNDARY = frozenset(".,;:!?()[]{}\"'/|=<>\u3002\u3001\u060c\u061b\u061f\u0964\u0965\u06d4\u2026\u2192")


def _bounds(text, n):
    """Does the character part clauses?"""
    c = text[n]
    if c in _BOUNDARY:
        decimal = c in ".," and 0 < n < len(text) - 1 and _ascii_digit(text[n - 1]) and _ascii_digit(text[n + 1])
        inside = c == "'" and 0 < n < len(text) - 1 and _class(text[n - 1]) >= 10 and _class(text[n + 1]) >= 10
        return not decimal and not inside
    if c == "-":
        return n == 0 or n == len(text) - 1 or any(text[k] == " " or _is_ideograph(text[k]) for k in (n - 1, n + 1))
    return False


# ---------------------------------------------------------------------------------------------------------------------
# The answer in an output

_QUOTES = {'"': '"\u201d', "'": "'", "\u201c": "\u201d\"", "\u2018": "\u2019'", "\u300c": "\u300d", "\u201e": "\u201c\u201d\""}
_OPENERS = frozenset(_QUOTES) | frozenset("\u201d\u2019`")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}


def _space(text, at):
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _string(text, at):
    """Reads a string that opens at `at`: its text, and where it ends. It ends at a quote that can end a JSON value, or with the text."""
    closing = _QUOTES[text[at]]
    out = []
    n = at + 1
    while n < len(text):
        c = text[n]
        if c == "\\" and n + 1 < len(text):
            e = text[n + 1]
            if e == "u" and n + 6 <= len(text) and all(h in "0123456789abcdef" for h in text[n + 2:n + 6]):
                code = int(text[n + 2:n + 6], 16)
                n += 6
                if 0xD800 <= code < 0xDC00 and text[n:n + 2] == "\\u" and n + 6 <= len(text):
                    low = text[n + 2:n + 6]
                    if all(h in "0123456789abcdef" for h in low) and 0xDC00 <= int(low, 16) < 0xE000:
                        code = 0x10000 + ((code - 0xD800) << 10) + (int(low, 16) - 0xDC00)
                        n += 6
                out.append("\ufffd" if 0xD800 <= code < 0xE000 else chr(code))
                continue
            out.append(_ESCAPES.get(e, e))
            n += 2
            continue
        if c in closing:
            after = _space(text, n + 1)
            if after >= len(text) or text[after] in "}],:`\uff0c":
                return "".join(out), n + 1
        out.append(c)
        n += 1
    return "".join(out).rstrip(" \t\r\n}]`\"'\u201d"), len(text)


def _value(text, at, depth):
    """The texts of a JSON value that begins at `at`, and where it ends."""
    at = _space(text, at)
    if at >= len(text) or depth > 8:
        return [], len(text)
    c = text[at]
    if c in _QUOTES:
        value, end = _string(text, at)
        return [value], end
    if c in "[{":
        values = []
        at += 1
        while True:
            while at < len(text) and text[at] in " \t\r\n,\uff0c":
                at += 1
            if at >= len(text):
                return values, at
            if text[at] in "]}":
                return values, at + 1
            begin = at
            inner, at = _value(text, at, depth + 1)
            if c == "{":
                after = _space(text, at)
                if after < len(text) and text[after] in ":\uff1a":
                    inner, at = _value(text, after + 1, depth + 1)
            values.extend(inner)
            if at == begin:
                at += 1
    end = at
    while end < len(text) and text[end] not in "}]\n":
        if text[end] in ",\uff0c":
            after = _space(text, end + 1)
            if depth > 0 or after < len(text) and text[after] in _OPENERS:
                break
        if depth > 0 and text[end] in ":\uff1a":
            break
        end += 1
    word = text[at:end].strip(" \t\r\n`")
    return ([] if word == "null" else [word]), end


def _json_answer(text, keys):
    """The texts of the last JSON answer; None where there is none."""
    places = []
    for key in keys:
        at = text.find(key)
        while at >= 0:
            end = at + len(key)
            before = text[at - 1] if at else ""
            quoted = before in _OPENERS and before != "" and end < len(text) and text[end] in _OPENERS | {"\u201d", "\u2019"}
            colon = _space(text, end + 1 if quoted else end)
            if colon < len(text) and text[colon] in ":\uff1a":
                if quoted or text[:at].rstrip(" \t\r\n").endswith("{"):
                    places.append((at, colon + 1))
            at = text.find(key, at + 1)
    for _, at in sorted(places, reverse=True):
        values, _ = _value(text, at, 0)
        if any(v.strip(" \t\r\n") for v in values) or text[_space(text, at):]:
            return values
    return None


def _boxed(text):
    at = text.rfind("\\boxed{")
    if at < 0:
        return None
    at += len("\\boxed{")
    depth = 1
    end = at
    while end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            break
        end += 1
    inner = text[at:end]
    for wrap in ("\\text{", "\\textbf{", "\\mathrm{", "\\mathbf{"):
        inner = inner.replace(wrap, "")
    return inner.replace("}", "")


def _after_marker(text, markers):
    """What stands behind the last thing that announces an answer: the rest of its line, or the next line."""
    places = []
    for marker in markers:
        needs_colon = marker.endswith(":")
        word = marker[:-1] if needs_colon else marker
        at = text.find(word)
        while at >= 0:
            end = at + len(word)
            if _edge(text, at) and _edge(text, end):
                n = end
                while n < len(text) and text[n] in " \t":
                    n += 1
                has_colon = n < len(text) and text[n] in ":\uff1a"
                if has_colon:
                    n += 1
                if has_colon or not needs_colon:
                    places.append(n)
            at = text.find(word, at + 1)
    for n in sorted(places, reverse=True):
        rest = text[n:]
        for line in rest.split("\n"):
            if any(_class(c) for c in line):
                return line
    return None


def extract(output, words, chain):
    """The texts of an output's answer, lower case. `chain`: its reasoning was asked for."""
    text = output.lower()
    if "</think>" in text:
        text = text[text.rfind("</think>") + len("</think>"):]
    elif "<think>" in text:
        text = text[:text.find("<think>")]
    cut = _until_question(text, words["questions"])
    for part in (cut, text):
        found = _json_answer(part, words["keys"])
        if found is not None:
            return found
    boxed = _boxed(cut)
    if boxed is not None:
        return [boxed]
    plain = cut.replace("*", "").replace("`", "").replace("#", "")
    found = _after_marker(plain, words["markers"])
    if found is not None:
        return [found]
    if chain:
        lines = [line for line in plain.split("\n") if any(_class(c) for c in line)]
        return lines[-1:]
    return [plain]


def _until_question(text, questions):
    """The text before a line that begins a further question."""
    at = 0
    seen = False
    for line in text.split("\n"):
        begin = line.lstrip(" \t\r*#>").replace("\uff1a", ":")
        if seen and any(begin.startswith(q) for q in questions):
            return text[:at]
        seen = seen or line.strip(" \t\r") != ""
        at += len(line) + 1
    return text


def _clean(parts):
    """The texts of an answer as one normalised text, in which `|` parts lines and texts."""
    lines = "\n".join(parts).replace("*", "").replace("`", "").replace("_", " ").replace("\\", " ").split("\n")
    numbered = [_item(line) for line in lines]
    if sum(item is not None for item in numbered) > 1:
        lines = [line if item is None else item for line, item in zip(lines, numbered)]
    return normalize(" | ".join(lines))


def _item(line):
    """The text of a numbered line."""
    line = line.lstrip(" \t\r")
    n = 0
    while n < len(line) and _ascii_digit(line[n]):
        n += 1
    if 0 < n < len(line) - 1 and line[n] in ".)" and line[n + 1] in " \t":
        return line[n + 2:]
    return None


# ---------------------------------------------------------------------------------------------------------------------
# The rule

_NONE, _DENY, _REFUSE = -1, -2, -3
_MORE, _NO, _MAYBE = 99, 1, 2
_LABELS = ("yes", "no", "maybe")
_TASKS = {"qa6": "label", "qa9": "label", "qa10": "label", "qa17": "label", "qa18": "label", "qa7": "count", "qa8": "list", "qa19": "path"}
_KINDS = ("place", "actor", "object", "animal", "colour", "motive")


class _Language:
    """The words of one language, made ready."""

    def __init__(self, words):
        get = lambda key: words.get(key) or []
        self.words = words
        self.proclitics, self.endings = get("proclitics"), get("endings")
        none = [(form, kind) for key, kind in (("refusals", _REFUSE), ("mask", _NONE)) for form in get(key)]
        self.none = none
        self.labels = [(form, n) for n, key in enumerate(_LABELS) for form in get(key)] + none
        self.numbers = [(form, n) for n, forms in enumerate(get("count")) for form in forms]
        self.numbers += [(form, 0) for form in get("nothing")] + [(form, _MORE) for form in get("more_numbers")]
        self.directions = [(form, n) for n, forms in enumerate(get("directions")) for form in forms]
        self.nothing = [(form, _NONE) for form in get("nothing")]
        self.weak, self.weak_numbers = set(get("weak")), set(get("weak_numbers"))
        self.negations = [(form, _DENY) for form in get("negations")]
        self.after = bool(words.get("negation_after"))
        self.parts = get("or") + get("and")
        self.separators = self.parts + get("then")
        self.after_parts = self.separators + get("because")
        self.fillers = set(get("fillers"))
        self.subjects = get("subjects") + [form for forms in self.entities("actor", True) for form in forms]
        self.but, self.things = [[(form, 0) for form in get(key)] for key in ("but", "things")]

    def entities(self, kind, latin):
        """Forms of every entity of a kind."""
        all_ = [list(forms) for forms in self.words.get("kinds", {}).get(kind, [])]
        if kind == "actor" and latin:
            for n, forms in enumerate(self.words.get("latin") or []):
                if n < len(all_):
                    all_[n].extend(forms)
        return all_

    def _has_subject(self, clause):
        """Does a clause begin with a person of whom it says more?"""
        begins = lambda s: len(clause) > len(s) and clause.startswith(s) and _edge(clause, len(s))
        return any(begins(s) and clause[len(s)] not in "'\u7684" for s in self.subjects)

    def _apart(self, text, start):
        """Does a mark stand before it?"""
        left = len(text[:start].rstrip(" "))
        return left == 0 or _bounds(text, left - 1)

    def _stands_alone(self, text, start, end):
        left = len(text[:start].rstrip(" "))
        if left > 0 and not _bounds(text, left - 1):
            head = text[:left]
            if not any(head.endswith(p) and _edge(text, left - len(p)) for p in self.separators):
                return False
        right = end
        while right < len(text) and text[right] == " ":
            right += 1
        if right < len(text) and not _bounds(text, right):
            return any(text.startswith(p, right) and _edge(text, right + len(p)) for p in self.after_parts)
        return True

    def _hidden(self, text, hits):
        """What refusals hide: the rest of their sentences, up to a word of contrast."""
        ranges = []
        for end in (hit[1] for hit in hits if hit[2] == _REFUSE):
            stop = next((n for n in range(end, len(text)) if text[n] in _STOPS and _bounds(text, n)), len(text))
            turns = [hit[0] for hit in _find(text, self.but, self.proclitics, ()) if end <= hit[0] < stop]
            ranges.append((end, min(turns + [stop])))
        return ranges

    def _told(self, text, hits):
        """Hits without those that refusals hide."""
        hidden = self._hidden(text, hits)
        return [hit for hit in hits if hit[2] < 0 or not any(start <= hit[0] < end for start, end in hidden)]

    def label(self, text):
        """Which labels a text gives."""
        found = set()
        hits = _longest(_find(text, self.labels, (), ()))
        told = self._told(text, hits)
        for start, end, kind, form in hits:
            # "I am not sure, maybe."
            apart = kind == _MAYBE and self._apart(text, start) and self._stands_alone(text, start, end)
            if (start, end, kind, form) not in told and not apart:
                continue
            # "no he is in the kitchen"
            opens = kind == _NO and start == 0 and self._has_subject(text[end:].lstrip(" "))
            if kind >= 0 and (form not in self.weak or opens or self._stands_alone(text, start, end)):
                found.add(kind)
        return found

    def number(self, text):
        """Which numbers a text gives: those in digits and words, else that of one article, else none."""
        hits = _find(text, self.numbers, self.proclitics, ()) + _find(text, self.none, (), ())
        n = 0
        while n < len(text):
            if _ascii_digit(text[n]):
                end = n
                while end < len(text) and (
                    _ascii_digit(text[end]) or text[end] in ".," and end + 1 < len(text) and _ascii_digit(text[end + 1])
                ):
                    end += 1
                whole = text[n:end]
                if "." in whole and not whole.split(".", 1)[1].strip("0"):
                    whole = whole.split(".", 1)[0]
                small = len(whole) <= 4 and all(_ascii_digit(c) for c in whole)
                hits.append((n, end, int(whole) if small else _MORE, "0" if small and int(whole) == 0 else whole))
                n = end
            else:
                n += 1
        hits = _longest(hits)
        strong, weak, clear, zero = set(), [], set(), set()
        for start, end, kind, form in self._told(text, hits):
            if kind < 0:
                continue
            common = form in self.weak_numbers
            if kind == 0 and not _ascii_digit(form[0]):
                if not common or self._of_things(text, start, end):
                    zero.add(kind)
            elif not common:
                strong.add(kind)
            else:
                weak.append(kind)
                if self._stands_alone(text, start, end) or _find(self._rest(text, end), self.things, (), ()):
                    clear.add(kind)
        if strong or clear:
            return strong or clear
        if weak:
            # "an apple and a ball"
            return set(weak) if len(weak) == 1 else set()
        return set() if any(hit[2] == _REFUSE for hit in hits) else zero

    def _rest(self, text, end):
        """The rest of a clause."""
        stop = next((n for n in range(end, len(text)) if _bounds(text, n)), len(text))
        return text[end:stop]

    def _of_things(self, text, start, end):
        """Is a word for none a clause of its own, or does its clause end with it or go on with what is counted?"""
        rest = self._rest(text, end)
        return not rest.strip(" ") or self._stands_alone(text, start, end) or bool(_find(rest, self.things, (), ()))

    def path(self, text):
        """The directions that a text gives, in order."""
        hits = _find(text, self.directions, self.proclitics, ()) + _find(text, self.none, (), ())
        way = []
        for start, end, kind, form in self._told(text, _longest(hits)):
            if kind >= 0 and (len(form) > 1 or _class(form[0]) == 2 or self._stands_alone(text, start, end)):
                way.append(kind)
        return way

    def mentions(self, text, entities):
        """Entities that a text names and does not deny: hits, and hits of those denied."""
        hits = _longest(_find(text, entities, self.proclitics, self.endings) + _find(text, self.none, (), ()))
        hits = self._told(text, hits)
        denials = _find(text, self.negations, self.proclitics, ())
        covered = [hit for hit in hits if hit[2] < 0]
        denials = [d for d in denials if not any(h[0] <= d[0] and d[1] <= h[1] for h in covered)]
        named = [hit for hit in hits if hit[2] >= 0]
        kept, denied = [], []
        for n, hit in enumerate(named):
            if self.after:
                begin = hit[1]
                limit = named[n + 1][0] if n + 1 < len(named) else len(text)
            else:
                begin = named[n - 1][1] if n else 0
                limit = hit[0]
            if self.after:
                stop = next((k for k in range(begin, limit) if _bounds(text, k)), limit)
                inside = [d for d in denials if begin <= d[0] and d[1] <= stop]
            else:
                stop = next((k + 1 for k in range(limit - 1, begin - 1, -1) if _bounds(text, k)), begin)
                inside = [d for d in denials if stop <= d[0] and d[1] <= limit]
            # "den Kuchen nicht"
            behind = [d for d in denials if d[0] >= hit[1] and not text[hit[1]:d[0]].strip(" ")]
            inside = inside or [d for d in behind if not self._rest(text, d[1]).strip(" ")]
            if not inside and denied and n and named[n - 1] == denied[-1] and not self.after:
                # "not in the garden or the kitchen"
                span = text[named[n - 1][1]:hit[0]]
                inside = len(span) < 24 and any(_find(span, [(word, 0)], (), ()) for word in self.words.get("or") or [])
            (denied if inside else kept).append(hit)
        return kept, denied

    def strangers(self, text, hits, separators, commas):
        """Is a short clause beside the named ones that names nothing known?"""
        cuts = []
        for word in separators:
            cuts += [(start, end) for start, end, _, _ in _find(text, [(word, 0)], self.proclitics, ())]
        cuts = [(s, e) for s, e in cuts if not any(h[0] < e and s < h[1] for h in hits)]
        for n in range(len(text)):
            if any(h[0] <= n < h[1] for h in hits):
                continue
            if _bounds(text, n):
                cuts.append((n, n + 1))
            elif commas and text[n] == _WAW and _WAW in self.proclitics and text[n - 1:n] == " " and text[n + 1:n + 2] not in ("", " "):
                cuts.append((n, n + 1))
        clauses = []
        at = 0
        before = ""
        for start, end in sorted(cuts) + [(len(text), len(text))]:
            if start < at:
                at = max(at, end)
                continue
            words = text[at:start].strip(" ")
            if words:
                clauses.append((words, before, text[start:end], any(at <= h[0] < start for h in hits)))
            before = text[start:end]
            at = end
        joins = lambda cut: cut in separators or cut == "/" or commas and cut in _COMMAS
        for n, (words, before, after, known) in enumerate(clauses):
            # "John went home and carries"
            begins = self._has_subject(words) and not any(clause[3] for clause in clauses[:n])
            if known or words in self.fillers or begins or not _is_short(words, 2 if before == _WAW else 3):
                continue
            if n and clauses[n - 1][3] and joins(before) or n + 1 < len(clauses) and clauses[n + 1][3] and joins(after):
                return True
        return False


_WAW = "\u0648"
_COMMAS = (",", "\u3001", "\u060c", ";", "|", _WAW)


def _is_short(words, most):
    if any(_is_ideograph(c) for c in words):
        return len(words) <= 4
    return len(words.split(" ")) <= most


class Scorer:
    """Scores outputs by the words of a release."""

    def __init__(self, words, rule="sound"):
        if rule not in RULES:
            raise ValueError("unknown rule %r, expected one of %s" % (rule, ", ".join(RULES)))
        self.rule = rule
        self.words = words
        self.languages = {code: _Language(of) for code, of in words["languages"].items()}
        self.plain = _Language({})

    def _of(self, code):
        return self.languages.get(code, self.plain)

    def score(self, output, row, output_en=None):
        """Scores an output, and its translation into English where there is one. Values are 0 and 1."""
        output, output_en = output or "", output_en or ""
        if row.get("prompt_kind") == "existence":
            given = self._existence(output, row)
            if given is None and output_en:
                given = self._existence(output_en, row)
            return {"existence": int(given is True)}
        if self.rule != "sound":
            exact = self._contains(output, self._golds(row))
            others = [g for _, golds in _by_language(row) for g in golds]
            anyway = exact or self._contains(output, others)
            english = [g for code, golds in _by_language(row) if code == "en" for g in golds]
            return {"exact": int(exact), "any": int(anyway or bool(output_en) and self._contains(output_en, english))}
        chain = row.get("strategy") == "chain_of_thought"
        text = _clean(extract(output, self.words, chain))
        matcher = self._reasoning if row.get("family") == "reasoning" else self._open
        exact, anyway = matcher(text, row)
        if not anyway and output_en:
            anyway = matcher(_clean(extract(output_en, self.words, chain)), row, "en")[1]
        return {"exact": int(exact), "any": int(exact or anyway)}

    # The rules that are not ours

    def _golds(self, row):
        golds = _texts(row.get("answers"))
        return golds + _texts(row.get("answer_variants")) if self.rule == "contains" else golds

    def _contains(self, output, golds):
        if self.rule == "released":
            return any(g.lower() in output.lower() for g in golds)
        text = normalize(output)
        return any(g and g in text for g in map(normalize, golds))

    # Yes or no

    def _existence(self, output, row):
        expected = (row.get("expected") or "").lower()
        if self.rule == "released":
            return bool(expected) and expected in output.lower()
        if self.rule == "contains":
            return bool(expected) and normalize(expected) in normalize(output)
        text = _clean(extract(output, self.words, False))
        for code in ("en", row.get("question_language"), row.get("language")):
            found = self._of(code).label(text)
            if found:
                return found == {_LABELS.index(expected)} if expected in _LABELS else False
        return None

    # Stories

    def _reasoning(self, text, row, only=None):
        golds = [normalize(g) for g in _texts(row.get("answers"))]
        golds = [g for g in golds if g]
        if not text or not golds:
            return False, False
        story = row.get("language")
        answer = "en" if row.get("strategy") == "translation" else row.get("question_language") or story
        variants = [v for v in map(normalize, _texts(row.get("answer_variants"))) if v]
        accepted = golds + variants
        by_language = [(code, [g for g in map(normalize, given) if g]) for code, given in _by_language(row)]
        task = _TASKS.get(row.get("source_task"))
        own = [answer] if row.get("strategy") == "translation" or story == answer else [answer, story]
        if task in ("label", "count", "path"):
            read = {"label": _Language.label, "count": _Language.number, "path": _Language.path}[task]
            gold = next((r for r in (read(self._of(code), g) for code in own for g in golds) if r), None)
            right = lambda code: bool(gold) and read(self._of(code), text) == gold
            exact = text in accepted or bool(gold) and any(right(code) for code in own)
            if only:
                return False, right(only)
            if exact or not gold:
                return exact, exact
            # Words of one language may be others in another: none of ours and of English may say something else.
            other = lambda found: bool(found) and (found != gold if task == "path" else bool(found - gold))
            if any(other(read(self._of(code), text)) for code in own + ["en"]):
                return False, False
            return False, any(right(code) for code, _ in by_language if code not in own)
        question = normalize(row.get("question") or "")
        right = self._list if task == "list" else self._entity
        if only:
            given = next((given for code, given in by_language if code == only), [])
            return False, bool(given) and right(text, [only], given, given, True, None, "")
        cast = story if answer != story and row.get("strategy") == "translation" else None
        if right(text, own, golds, accepted, cast is not None, cast, question):
            return True, True
        english = next((given for code, given in by_language if code == "en"), [])
        if self._others(text, own, golds, accepted, cast, question, task) or english and self._others(
            text, ["en"], english, english, None, "", task
        ):
            return False, False
        for code, given in by_language:
            mine = code in own
            if given and right(text, [code], given, given + (accepted if mine else []), True, None, question if mine else ""):
                return False, True
        return False, False

    def _others(self, text, codes, golds, accepted, cast, question, task):
        """Does a text name what is not the gold, in some languages?"""
        if task == "list":
            language = self._of(codes[0])
            forms = self._forms("object", codes, False, None)
            gold = {hit[2] for hit in language.mentions(golds[0], forms)[0]}
            return any(hit[2] not in gold for hit in language.mentions(text, forms)[0])
        kept, gold = self._named(text, codes, golds, accepted, True, cast, question)
        return any(hit[2] != gold for hit in kept)

    def _kind(self, codes, golds, cast):
        """The kind of the gold, and its number among those of the kind; `cast` is the language of the persons, if another."""
        for gold in golds:
            for kind in _KINDS:
                for code in [cast] if kind == "actor" and cast else codes:
                    for n, forms in enumerate(self._of(code).entities(kind, True)):
                        if gold in forms:
                            return kind, n
        return None, None

    def _forms(self, kind, codes, latin, cast):
        forms = []
        for code in [cast] if kind == "actor" and cast else codes:
            forms += [(form, n) for n, all_ in enumerate(self._of(code).entities(kind, latin)) for form in all_]
        return forms

    def _named(self, text, codes, golds, accepted, latin, cast, question):
        """Entities of the gold's kind that a text names and the question does not, and the gold."""
        language = self._of(codes[0])
        kind, gold = self._kind(codes, golds, cast)
        if kind is None:
            gold, forms = 1000, []
        else:
            forms = self._forms(kind, codes, latin, cast)
        forms = [(form, gold) for form in accepted] + [(form, n) for form, n in forms if form not in accepted]
        kept, _ = language.mentions(text, forms)
        if question and any(hit[2] != gold for hit in kept):
            asked = {hit[2] for hit in language.mentions(question, forms)[0]}
            kept = [hit for hit in kept if hit[2] == gold or hit[2] not in asked]
        return kept, gold

    def _entity(self, text, codes, golds, accepted, latin, cast, question):
        if text in accepted:
            return True
        kept, gold = self._named(text, codes, golds, accepted, latin, cast, question)
        if {hit[2] for hit in kept} != {gold}:
            return False
        language = self._of(codes[0])
        return not language.strangers(text, kept, language.words.get("or") or [], False)

    def _list(self, text, codes, golds, accepted, latin, cast, question):
        if text in accepted:
            return True
        language = self._of(codes[0])
        forms = self._forms("object", codes, False, None)
        gold = {hit[2] for hit in language.mentions(golds[0], forms)[0]}
        kept, denied = language.mentions(text, forms)
        if not gold:
            none = [(form, _DENY if kind == _NONE else kind) for form, kind in language.none]
            nothing = _longest(_find(text, language.nothing + none, language.proclitics, ()))
            is_nothing = any(form == golds[0] for form, _ in language.nothing)
            classes = {hit[2] for hit in nothing}
            return is_nothing and not kept and not denied and _NONE in classes and _REFUSE not in classes
        if {hit[2] for hit in kept} != gold:
            return False
        return not language.strangers(text, kept + denied, language.separators, True)

    # Passages and factoids

    def _open(self, text, row, only=None):
        if only:
            return False, any(code == only and self._holds(text, golds, only, only) for code, golds in _by_language(row))
        code, asked = row.get("language"), row.get("question_language") or row.get("language")
        golds = _texts(row.get("answers")) + _texts(row.get("answer_variants"))
        exact = self._holds(text, golds, code, asked)
        anyway = exact or any(self._holds(text, given, other, asked) for other, given in _by_language(row))
        return exact, anyway

    def _holds(self, text, golds, code, asked):
        """Does a text hold one of the answers, as whole words?"""
        bare = _bare(text)
        for gold in golds:
            for form, inflected in self._spellings(gold, code):
                for whole in (text, bare):
                    for reader in (code, asked):
                        language = self._of(reader)
                        if reader == code:
                            endings = () if inflected else language.endings
                            proclitics = language.proclitics
                        elif inflected:
                            continue
                        else:
                            endings, proclitics = language.words.get("endings_on_foreign") or [], ()
                        if _find(whole, [(form, 0)], proclitics, endings):
                            return True
        return False

    def _spellings(self, gold, code):
        """Forms of an open answer; whether they are inflected."""
        words = self._of(code).words
        whole = normalize(gold)
        core = _core(gold, whole, words)
        forms = [core] + _grouping(core) + [_strip(whole)]
        forms += [_bare(form) for form in list(forms)]
        for numbers in words.get("count") or []:
            plain = [form for form in numbers if " " not in form]
            if core in plain:
                forms += [form for form in plain if form not in self._of(code).weak_numbers]
        inflected = []
        for before, after in words.get("changes") or []:
            stem = core[:-len(before)] if before and core.endswith(before) else ""
            if len(stem) > 1 and all(_class(c) for c in stem[-2:]):
                inflected += [normalize(stem + ending) for ending in after]
        return [(form, False) for form in forms if form] + [(form, True) for form in inflected if form]


def _texts(value):
    """A list column, whatever reader gave it."""
    return [] if value is None else list(value)


def _by_language(row):
    return [(entry["language"], _texts(entry["answers"])) for entry in _texts(row.get("answers_by_language"))]


def _bare(text):
    """A text without the marks that part its clauses."""
    plain = "".join(" " if _bounds(text, n) else c for n, c in enumerate(text))
    return " ".join(word for word in plain.split(" ") if word)


_SIGNS = frozenset("%+#\u00b0\u2030$") | _within((0xA2, 0xA5), (0x20A0, 0x20CF))


def _strip(text):
    first, last = 0, len(text)
    keeps = lambda c: _class(c) or c in _SIGNS
    while first < last and not keeps(text[first]):
        first += 1
    while last > first and not keeps(text[last - 1]):
        last -= 1
    return text[first:last]


def _core(gold, whole, words):
    """The answer's words without punctuation at the edges and a leading article."""
    text = _strip(whole)
    if not text:
        return whole
    for article in words.get("articles") or []:
        if text.startswith(article + " "):
            rest = _strip(text[len(article) + 1:])
            if rest:
                return rest
    written = gold
    while written and not (written[0].isalnum() or _is_letter(written[0])):
        written = written[1:]
    for article, plain in words.get("joined_articles") or []:
        rest = text[len(plain):]
        if text.startswith(plain) and written.startswith(article) and rest:
            length = next((n for n, c in enumerate(rest) if not _class(c)), len(rest))
            if length > 2:
                return rest
    return text


def _grouping(core):
    """Other ways to write the numbers of an answer: with their groups closed up, and parted by spaces."""
    pieces = core.split(" ")
    digits = lambda piece, least: least <= len(piece) <= 3 and all(_ascii_digit(c) for c in piece)
    closed = ""
    n = 0
    while n < len(pieces):
        closed += (" " if n else "") + pieces[n]
        lead = digits(pieces[n], 1) and not pieces[n].startswith("0")
        n += 1
        while lead and n < len(pieces) and digits(pieces[n], 3):
            closed += pieces[n]
            n += 1
    parted = ""
    for n, c in enumerate(closed):
        if n and _ascii_digit(c) and _ascii_digit(closed[n - 1]):
            rest = 0
            while n + rest < len(closed) and _ascii_digit(closed[n + rest]):
                rest += 1
            first = n
            while first > 0 and _ascii_digit(closed[first - 1]):
                first -= 1
            if rest % 3 == 0 and (first == 0 or closed[first - 1] != "."):
                parted += " "
        parted += c
    return [closed, parted]
