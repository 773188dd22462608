"""Classify a line of a page by its words alone. Pure.

The words are those of about fifteen languages; a line in any other language counts as content.
"""

import re

MAX_CUE_LENGTH = 200
"""Characters of a line that introduces comments or recommendations, at most."""
MAX_STAMP_LENGTH = 100
"""Characters of a line with a date and nothing else, at most."""
MAX_NOTICE_LENGTH = 600
"""Characters of a cookie notice at most."""
MAX_JUNK_LENGTH = 120
"""Characters of a line of the site itself (tags, sharing, copyright) at most."""
MAX_ENTRY_NOTE_LENGTH = 500
"""Characters of the note that the software of a blog puts below an entry, at most."""
MAX_SIGNATURE_LENGTH = 120
"""Last characters of a text that may be a signature with a day and a time."""

_COUNT = r"(?:\d[\d,.]*+|no|view|show|hide|add|all|user|reader|readers'?|visitor|your|latest|recent|the)"
_COMMENTS = re.compile(
    rf"[\W_]*+(?:{_COUNT}\s*+(?:comment|response|reply|reaction|thought)|comment on this|(?:{_COUNT})?\s*+"
    r"(?:comments|responses|replies|reactions|thoughts|trackbacks?|pingbacks?|kommentare?|commentaires?|comentarios?"
    r"|coment[aá]rios?|commenti|reacties|kommentarer|комментари\w*|评论|コメント|komentarze?|koment[aá]\w*))\b"
    r"(?:\s*(?:to|on|so far|for|about)\b.{0,120}|\s*[(\[]\s*+\d*+\s*+[)\]])?[\W_]*"
    r"|(?:leave|post|add|write|submit)\s+(?:a|your|an?other)?\s*(?:comment|reply|response)\b.{0,60}|speak your mind"
    r"|add comment.{0,20}|blog comments powered by disqus"
    r"|(?:schreibe?n? sie |hinterlasse |neuen )?(?:einen |ihren |deinen )?kommentar(?:e)? (?:schreiben|hinterlassen"
    r"|abgeben|verfassen).{0,40}"
    r"|laisse[rz]? un commentaire.{0,40}|deja? (?:un|tu) comentario.{0,40}|lascia un commento.{0,40}"
    r"|deixe um comentário.{0,40}"
    r"|(?:bisher )?keine kommentare.{0,30}|no comments? (?:yet|found).{0,30}"
)
_MORE = re.compile(
    # Recommendations.
    r"related (?:posts?|articles?|stories|links|news|content|reading|topics|entries)\b.{0,40}"
    r"|more (?:from|on|in|stories|news|articles|posts)\b.{0,60}|you (?:may|might) also (?:like|enjoy"
    r"|be interested).{0,30}"
    r"|recommended (?:for you|posts|articles|stories|reading)|popular (?:posts|articles|stories)"
    r"|most (?:read|popular|viewed|commented).{0,30}|recent (?:posts|articles|comments|entries)|read (?:next"
    r"|this next).{0,20}"
    r"|das (?:thema )?könnte (?:dich|sie|euch|ihnen).{0,40}|mehr zu[mr]? thema.{0,40}|ähnliche (?:beiträge|artikel"
    r"|themen|produkte|meldungen).{0,40}"
    r"|weitere (?:beiträge|artikel|meldungen|themen|nachrichten|news|produkte|empfehlungen)\b.{0,60}"
    r"|auch interessant.{0,20}"
    r"|zum weiterlesen:?|verwandte (?:artikel|beiträge|themen|produkte).{0,30}|passend zum thema.{0,30}|schon gelesen\?"
    r"|mehr lesen:?"
    r"|sur le même (?:sujet|thème).{0,30}|(?:articles?|sujets?|contenus?) (?:liés|similaires|connexes"
    r"|recommandés).{0,30}|à lire (?:aussi|également)\W*"
    r"|(?:artículos|noticias|notas|entradas) relacionad[ao]s.{0,30}|(?:también )?te puede interesar.{0,20}"
    r"|(?:articoli|notizie) correlat[ei].{0,30}|potrebbe(?:ro)? (?:anche )?interessart[ie].{0,30}"
    r"|(?:notícias|artigos|posts|matérias) relacionad[ao]s.{0,30}|veja também\W*|leia (?:também|mais)\W*"
    r"|gerelateerde? .{0,40}|lees ook\W*"
    r"|powiązane.{0,40}|zobacz (?:też|także|również)\W*|czytaj (?:też|także|również)\W*|читайте также\W*|по теме\W*"
    r"|похожие .{0,40}"
    # Actions on the page.
    r"|share this.{0,40}|about the author.{0,20}|über den autor.{0,20}|see also:?|sign up for .{0,60}newsletter.{0,30}"
    r"|(?:artikel|beitrag|seite) (?:teilen|drucken|weiterempfehlen).{0,20}|partager (?:cet article|sur).{0,20}"
)
_HEADING = re.compile(r"\W*(?:comments|responses|replies|reactions|thoughts|see also|about the authors?)\W*")
_JUNK = re.compile(
    r"(?:tags?|labels?|categor(?:y|ies)|filed under|posted (?:in|under)|archived under|related|tagged(?: with)?"
    r"|permalink|share|tweet"
    r"|print|email|e-mail|advertisement|comments?|follow (?:us|me)|subscribe|like us|digg this|reddit|main|previous"
    r"|next|read more"
    r"|continue reading|click (?:here|to)|sign[ -]?up|©|copyright|\(c\)|all rights reserved|click like|back to"
    # The same in other languages; other articles named between paragraphs; credits of pictures; newsletters.
    r"|schlagw(?:ort|örter)|kategorien?|veröffentlicht (?:in|am|unter)|teilen|drucken|anzeige|werbung"
    r"|zurück (?:zu[mr]?|nach)|nach oben|weiterlesen"
    r"|gefällt mir|lädt|wird geladen|jetzt (?:lesen|abonnieren|anmelden|bewerben)|abonnie\w+|folge[nt]? sie"
    r"|mehr (?:erfahren|infos?|dazu)|étiquettes|catégories?|partager|publicité|imprimer"
    r"|etiquetas|categorías?|compartir|publicidad|condividi|pubblicità|stampa|compartilh\w+|publicidade|udostępnij"
    r"|reklama|lubię to|поделиться|реклама|теги"
    r"|also (?:on|read|see|watch)|read also|see also|watch(?: also| now| more)?:|more:|listen:|related:|don[’']t miss"
    r"|recommended:|lesen sie|lies auch|siehe auch|mehr zum thema|auch auf"
    r"|lire aussi|à lire|lea también|vea también|leer más|mira también|leggi (?:anche|tutto)|leia|veja|lees (?:ook"
    r"|meer|verder)|czytaj|zobacz|читайте|смотрите"
    r"|(?:photo|foto|image|bild|picture|credit|video|source|quelle|grafik|illustration|titelbild|photograph"
    r"|bildquelle|fotos|photos|crédits?|imagen|immagine)s?(?: by| von| par| courtesy.{0,20}| ?credits?)?\s*[:©/|]"
    r"|photograph(?:s|y)? by|image \d+ of|photo \d+ of|join our|never miss|get (?:the latest|breaking|our)"
    r"|sharing is caring|like this(?: story|:)|tell us what|send (?:tips|us)"
    r"|(?:te|le|les) (?:puede|podría) interesar|mir[ae]:|lea:|vea:|reading time|tiempo de lectura|temps de lecture"
    r"|(?:ti|vi) potrebbe(?:ro)? interessare|suscríbete|síguenos|regístrate|abonnez-vous|suivez[- ]nous|inscrivez-vous"
    r"|iscriviti|seguici|abbonati|siga[- ]nos|inscreva-se|zapisz się|obserwuj nas|подписывайтесь|подпишитесь"
    r"|lesezeit|ten tekst przeczytasz|czas czytania|tempo di lettura|tempo de leitura"
    r"|(?:schedule|last (?:modified|updated)|updated|posted|published|published on|aktualisiert|publiziert|erstellt"
    r"|publicado|publié|stand)\s*+(?:on|:|am"
    r"|vom)?[\W\d]*(?:\w++ ){0,4}\d{4}.{0,40}$"
    r")(?:\b|(?<=\W)).{0,110}"
    r"|.{0,60}(?:getty images|shutterstock|istock(?:photo)?(?:\.com)?|picture alliance|/\s?(?:afp|dpa|reuters|ap|epa"
    r"|imago|apa|keystone|ansa|efe))\W*"
)
_CREDIT = re.compile(
    r".*[(\[](?:image|photo|picture|pic|foto|bild|imagen|credit|source|file photo|ap photo|getty|reuters|afp)s?"
    r"(?:\s*[:/|].{0,60}|\s+(?:by|courtesy|credit)\b.{0,60})?\s*[)\]]\W*"
    r"|.*[(\[][^()\[\]]{0,60}/\s?(?:istock(?:photo)?|shutterstock|getty images|pixabay|unsplash|picture alliance)"
    r"[^()\[\]]{0,20}[)\]]\W*",
    re.DOTALL,
)
_SITE = re.compile(
    r".*(?:©|\(c\)|copyright)\s*(?:\d{4}|by\b).*|.{0,140}©\s?[\w.][^!?]{0,50}|.*\ball rights reserved\W*.{0,60}"
    r"|.*\balle rechte vorbehalten\b.{0,60}",
    re.DOTALL,
)
_STAMP_WORDS = re.compile(
    r"(?:by|published|posted|updated|last|modified|created|on|at|am|pm|a\.m\.|p\.m\.|first|date|time|uhr|um|stand|vom"
    r"|the|[a-z]{1,2}st|[ecmp][sd]?t|gmt|utc|ist|bst|hst|noon|min(?:utes?)?|hours?|days?|ago|read"
    r"|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
    r"|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
    r"|(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zäé]*|\d+(?:st|nd|rd|th)?)"
)
_STAMP = re.compile(
    r"\b(?:19|20)\d\d\b|\b\d{1,2}:\d\d\b|\bago\b"
    r"|\b(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zé]*\.?\s*\d"
)
_STAMP_WORD = re.compile(r"[^\W_]+(?:\.[a-z]\.)?")
_NOTICE = re.compile(
    r"\bcookies?\b.{0,300}(?:consent|accept|agree|privacy|polic|experience|zustimm|akzeptier|einwillig|richtlini"
    r"|datenschutz|einverstanden"
    r"|accept|utilis|consenti|acept|utiliz|consens|zgod|akcept|toestemming|samtyck|соглас)|\b(?:consent|einwilligung"
    r"|zustimmung)\b.{0,100}\bcookies?\b",
    re.DOTALL,
)
_DATE = re.compile(
    r"\b(?:19|20)\d\d\b|\b\d{1,2}[:./]\d{2}\b"
    r"|\b(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zé]*\.?\s*\d|\bago\b"
)
_BYLINE = re.compile(
    r"(?:by|von|par|por|di|da|door|af|av|posted|published|updated|written|author|last (?:updated|modified))\b"
)
_ENTRY_NOTE = re.compile(
    r"(?:this entry was (?:posted|published|written|filed)|you can (?:follow any|leave a|skip to)"
    r"|(?:both )?(?:responses|comments|trackbacks|pings)\b.{0,30}\bare (?:currently )?closed)\b"
)
_CLOCK = re.compile(r"\b\d{1,2}:\d{2}\b")
_DAY = re.compile(
    r"\b(?:19|20)\d\d\b|\b\d{1,2}/\d{1,2}/\d{2}\b"
    r"|\b(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zé]*\.?\s*\d"
    r"|\d{1,2}(?:\.|st|nd|rd|th)?\s(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])"
)
_STOP = re.compile(r"[.!?。！？:;\"”)]\s*$")


def ends_content(line: str, *, comments: bool = True) -> bool:
    """Return whether the line introduces recommendations, or readers' comments if `comments` is set."""
    if len(line) >= MAX_CUE_LENGTH:
        return False
    lower = line.lower()
    return (comments and _COMMENTS.fullmatch(lower) is not None) or _MORE.fullmatch(lower) is not None


def may_be_heading(line: str) -> bool:
    """Return whether the line, which introduces comments or recommendations, may also be a heading in the content."""
    return _HEADING.fullmatch(line.lower()) is not None


def introduces_comments(line: str) -> bool:
    """Return whether the line introduces readers' comments."""
    return len(line) < MAX_CUE_LENGTH and _COMMENTS.fullmatch(line.lower()) is not None


def is_signed(text: str) -> bool:
    """Return whether a text ends with a day and a time, as the comments of readers do."""
    end = text[-MAX_SIGNATURE_LENGTH:].lower()
    return ":" in end and _CLOCK.search(end) is not None and _DAY.search(end) is not None


def is_entry_note(line: str) -> bool:
    """Return whether the line is the note that the software of a blog puts below an entry."""
    return (
        len(line) < MAX_ENTRY_NOTE_LENGTH and _ENTRY_NOTE.match(line[:MAX_STAMP_LENGTH].lower()) is not None
    )


def is_junk(line: str) -> bool:
    """Return whether the line belongs to the site and not to the content: tags, sharing, copyright."""
    return len(line) < MAX_JUNK_LENGTH and _JUNK.fullmatch(line.lower()) is not None


_POINTER = re.compile(
    r"\W*(?:read(?: more| also| next)?|see(?: also| more)?|watch|listen|more|related|don[’']t miss|also|click|sign up"
    r"|subscribe|recommended|mehr|lesen sie|auch interessant|lire aussi|à lire|lea también|leggi anche|leia|veja"
    r"|lees ook|czytaj|zobacz|читайте|смотрите)\b"
)


def is_pointer(line: str) -> bool:
    """Return whether the line begins with words that point to another page."""
    return len(line) < 2 * MAX_CUE_LENGTH and _POINTER.match(line.lower()) is not None


def is_caption(line: str) -> bool:
    """Return whether the line ends with the credit of a picture, in brackets."""
    return len(line) < MAX_CUE_LENGTH and line[-1:] in ")]" and _CREDIT.fullmatch(line.lower()) is not None


def is_copyright(line: str) -> bool:
    """Return whether the line states the copyright of the site."""
    if len(line) >= MAX_CUE_LENGTH:
        return False
    lower = line.lower()
    # Few lines have any of these words, and the expression looks for them everywhere.
    is_possible = (
        "©" in lower
        or "(c)" in lower
        or "copyright" in lower
        or "reserved" in lower
        or "vorbehalten" in lower
    )
    return is_possible and _SITE.fullmatch(lower) is not None


def is_date_stamp(line: str) -> bool:
    """Return whether the line has nothing but a date or a time and words that introduce it."""
    if len(line) >= MAX_STAMP_LENGTH:
        return False
    lower = line.lower()
    return _STAMP.search(lower) is not None and all(map(_STAMP_WORDS.fullmatch, _STAMP_WORD.findall(lower)))


def is_notice(line: str) -> bool:
    """Return whether the line is a cookie notice."""
    return len(line) < MAX_NOTICE_LENGTH and "ookie" in line and _NOTICE.search(line.lower()) is not None


def has_date(line: str) -> bool:
    """Return whether the line contains a date or a time."""
    return _DATE.search(line.lower()) is not None


def is_byline(line: str) -> bool:
    """Return whether the line begins like a byline, which states the author or the time of a text."""
    return _BYLINE.match(line.lower()) is not None


def is_sentence(line: str) -> bool:
    """Return whether the line ends like a sentence."""
    return _STOP.search(line[-8:]) is not None
