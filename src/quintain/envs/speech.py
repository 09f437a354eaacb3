"""Which words of a free text may tell an action: not those that it denies, asks, supposes, or says for other reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"(?:[−–—-](?=\d))?[^\W_]+(?:['’][^\W_]+)*")  # a number with a sign is another one
_PLACE = r"(?:[a-z]?\d{1,3}|[a-z])\b"  # what an answer of many words is made of
_DENIES = (
    r"not|never|cannot|avoid|without|except|instead of|(?:rather|less|more|greater|other) than|(?:all|anything) but|at (?:least|most)"
    r"|refuse to|reject(?:ed)?|e\.g\.|for (?:example|instance)"
)
_WRONG = r"wrong|blocked|illegal|invalid|bad|impossible|forbidden|taken|occupied"
_RIGHT = r"allowed|possible|legal|valid|good|right|correct|an option"
_LABEL = r"(?!(?:is|seems|looks|wins|because|since|as|then|and|or|next|now|over|before|after|against|instead|rather|than|so|to|for"
_LABEL += r"|by|with|at|blocks?|stops?|gives?|completes?|makes?|takes?)\b)"  # no article stands before these
_NOT = re.compile(
    "|".join(
        (
            rf"(?:\b(?:{_DENIES})|\b\w*n['’]t)[:*]*(?:[ \t]+[\w'’-]+){{1,3}}(?:[ \t]+{_PLACE})*|\bno[ \t]+[\w'’-]+",
            rf"\b(?:{_PLACE}[ \t]+){{0,12}}[\w'’-]+[ \t]+(?:(?:is|are|was|were|would be)"
            rf"(?:[ \t]+(?:{_WRONG})|(?:[ \t]+not|n['’]t)[ \t]+(?:{_RIGHT}))|fails|loses|is out|(?:does|do|wo|would)n['’]t work)\b",
            r"\b(?:wrong|illegal|invalid|impossible|forbidden|blocked|rejected)[ \t]*:[^\n;]*",
            r"~~[^~]*~~|[≠¬√][ \t]*\w+|[<>≤≥≈~][ \t]*\d[\w.]*",  # struck out, or only compared with
            r"(?<!\d)\d+(?:\^\S+|[ \t]*%|\\(?:pi|sqrt|[dt]?frac)\b)|\b\d+(?:[.,/+*×–-]\d+)+",  # a number that is part of another one
            r"\bminus[ \t]+\d+|\\[dt]?(?:frac|sqrt)(?:\{[^{}]*\})*",
        )
    ),
    re.IGNORECASE,
)
_IDLE = re.compile(
    "|".join(
        (
            r"(?:^|(?<=[.!?\n]))[^.!?\n]*\?",  # what is asked
            r"\b(?:if|unless)[ \t]+\w+[ \t]+\w+[^,.;:\n]*?(?=,|\b(?:then|I|we)\b|[.;:\n]|$)",
            r"\b(?:have|has|there(?:['’]s| is| are| was| were))\b[^.,;:\n]{0,40}\bleft\b",
            r"\b(?:(?:nothing|one|what|all)[ \t]+is|\w+s[ \t]+are)[ \t]+left\b",
            r"\b(?:all|that['’]s|that is|sounds|seems|one is|you are|you['’]re)[ \t]+right\b",
            r"(?:^|(?<=[.!\n]))[ \t]*right,(?=[ \t]*(?:let|so|now|okay|ok|well|first)\b)",
            r"\b(?:set|setting|give|giving|gave|pick|end|look|make|sum|add|build|mess|mix|back|clear|wrap)(?:s|ed|ing)?"
            r"(?:[ \t]+(?:it|this|that|them|the[ \t]+\w+))?[ \t]+up\b|\bcomes?[ \t]+up[ \t]+with\b",
            r"\b(?:write|writing|note|noting|jot|break|narrow|slow|count|boil|track)(?:s|ing)?"
            r"(?:[ \t]+(?:it|this|that|the[ \t]+\w+))?[ \t]+down\b",
            r"(?:^|(?<=[.!?\n]))[ \t]*(?:(?:no|but|hmm),?[ \t]+)?wait[,!—–]+[ \t]*(?=(?:I|no|that|this|maybe|let|actually|what|we)\b)",
            r"\blet[ \t]+me[ \t]+(?:check[ \t]+(?:the|this|that|again|what|for|how)|take[ \t]+a)\b|\bdouble[- ]check\w*",
            r"\bstay(?:s|ing)?[ \t]+(?:calm|focused)\b|\blook(?:ing)?[ \t]+forward\b|\ba[ \t]+draw\b|\ban?[ \t]+AI\b",
            r"\b(?:after|against|considered|considering|facing|given|reply|response|versus)\b(?:[ \t]+to)?"
            r"[ \t]+(?:an?|the|his|her|their)[ \t]+(?:opponent['’]s[ \t]+)?\w+(?:[ \t]+to[ \t]+\d+)?",  # what was there before
            r"\bsteps?[ \t]+(?:by[ \t]+step|back|\d+)\b",
            r"\b(?:my|your|its|their|the|this|next|each|every|a|one|first|last)[ \t]+turn\b",
            rf"(?<!column )(?<!vertex )(?<!node )\b(?:(?-i:a)[ \t]+{_LABEL}|(?-i:I)[ \t]+)(?=[^\W\d_]{{2}})",  # an article, who speaks
        )
    ),
    re.IGNORECASE,
)
_CLAUSE = re.compile(  # where one ends
    r"((?:[,.:](?!\d)|[;!?\n]|[ \t][–—-][ \t]|\b(?:because|since|so(?![ \t]+(?:far|much|many)\b)|but|then|otherwise|else|while|which|though"
    r"|although|therefore|thus|hence|(?<!well )as(?![ \t]+(?:well|far|good|bad|soon|long)\b)"
    r"|(?:and|or)(?=[ \t]+(?:I|we|he|she|they|now|must|will|should|instead|(?:the|my)[ \t]+opponent)\b))\b)+)",
    re.IGNORECASE,
)
_REJECTS = re.compile(  # of a clause that says how bad a move is
    "|".join(
        (
            r"\b(?:is|are|am|was|were|be|seems|looks|\w+['’]s)[ \t]+(?:(?:clearly|simply|just|such)[ \t]+)?"
            r"(?:(?:an?|the)[ \t]+(?:[\w-]+[ \t]+)?(?:mistake|blunder|error|losing|bad|poor|terrible|awful)|suicid\w+|too[ \t]+"
            r"(?:big|costly|dangerous|early|expensive|far|greedy|high|large|late|low|many|much|passive|risky|slow|small|weak))\b",
            r"(?:\b(?:would|will)|['’](?:d|ll))[ \t]+(?:\w+ly[ \t]+)?lose\b",
            r"\bno[ \t]+way[ \t]+(?:that[ \t]+)?(?:I|we)\b",
            r"\b(?:little|no|hardly any)[ \t]+(?:reason|point|need|use|sense)[ \t]+(?:to|in)[ \t]+(?:(?:go|move|play|step)[ \t]+)?\S+\W*$",
        )
    ),
    re.IGNORECASE,
)
_DOUBTS = re.compile(  # it may mean the contrary, or another's loss
    r"\b(?:not|never|avoid\w*|without|nothing|least|other|everything|anything|opponent|enemy|rival|he|she|they|them)\b|n['’]t\b"
    r"|\b(?:mistake|blunder|error)[ \t]+to[ \t]+(?:ignore|skip|miss|pass[ \t]+up|delay|decline|refuse|neglect|overlook|forgo|leave)\b"
    r"|\bno[ \t]+way\b.*\blose\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(  # of a clause that says what another one does, up to an `and`, or where something is
    r"^(?!.*\b(?:I|we|best|must|should|answer|forces)\b)[ \t\"']*"
    r"(?:(?:(?:(?:the|my|our|your)[ \t]+)?(?:opponent|enemy|rival)|he|she|they)(?:['’]\w+)?[ \t]+\w"
    r"|(?:white|black)[ \t]+(?:just|played|moved|took|captured|attack(?:s|ed)|threaten(?:s|ed))\b)"
    r".*?(?=\band\b|$)"
    r"|^(?!.*\band\b).*\b(?:is|are|was|lies|comes|flies|moves)[ \t]+(?:\w+[ \t]+)?(?:to|on|at|from)"
    r"[ \t]+(?:my|your|our)[ \t]+(?:left|right)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_TAKEN_BACK = re.compile(  # a sentence that breaks off at `but`, or is followed by `no`
    r"(?:^|(?<=[.!?;\n]))[^.!?;\n]*(?:\bbut(?:[ \t]+(?:no|(?:I|we)[ \t]+(?:\w+n['’]t|cannot)))?\W*$"
    r"|[;.?!–—][ \t]*no(?=[ \t]*(?:[.!\n]|$)))",
    re.IGNORECASE,
)
SMALL = {  # words of speech that some worlds read as an action, a route or a code: they count where nothing else is said
    *("or", "here", "go", "hold", "deck", "castle", "castles", "castling"),
    *("add", "bad", "each", "had", "head"),
    *("dud", "dull", "en", "es", "lull", "ne", "new", "news", "see", "seen", "sees", "sense", "we"),
}


def telling(text: str) -> Iterator[str]:
    """The words that are left, in their order.

    Example:
        >>> list(telling("Right, let me see. I have 3 turns left, up is blocked, so down")), list(telling("Left? It is not left: up"))
        (['let', 'me', 'so', 'down'], ['It', 'is', 'up'])
        >>> list(telling("The opponent raised, and a fold would be a mistake; call"))
        ['call']
    """
    clauses = _CLAUSE.split(_TAKEN_BACK.sub(" ", text))
    text = "".join(
        " " if _REJECTS.search(said) and not _DOUBTS.search(said) else _OTHERS.sub(" ", said, count=1)
        for said in clauses
    )
    yield from (word for word in _WORD.findall(_NOT.sub(" ", _IDLE.sub(" ", text))) if word.lower() not in SMALL)
