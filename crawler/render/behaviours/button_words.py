r"""`BUTTON_WORDS`: what buttons say, in the languages of most of the web, as regular expressions of JavaScript.

A button's words are matched whole and in lower case, without numbers and without punctuation at their end; one of the
`DANGEROUS` words is enough anywhere. `\S*` stands for the rest of a word. There are no Unicode classes here, because
they take a browser milliseconds to compile, for every page.
"""

DANGEROUS = (
    r"buy|purchas\S*|pay|pays|paid|payments?|order|orders|checkout|subscri\S*|donat\S*|cart|basket|trial|upgrade|premium",
    r"sign ?up|sign ?in|register|log ?in|log ?out|join|delete|remove|send|submit|unsubscri\S*|vote|report|confirm",
    r"kauf\S*|bestell\S*|bezahl\S*|zahl\S*|abos?|abonn\S*|pur|kostenpflichtig|anmelden|registrieren|löschen|spenden",
    r"achet\S*|command\S*|pay(?:er|ez)|s abonner|panier|inscri\S*|connexion|supprimer|un don",
    r"compr\S*|pag(?:ar|a|ue|amentos?|o)|suscri\S*|pedir|iniciar sesión|registrarse|eliminar|donar",
    r"acquist\S*|abbon\S*|ordina|accedi|iscri\S*|assin\S*|entrar|koop|kopen|betaal|betalen|bestel|doneer",
    r"köp|köpa|køb|kjøp|prenumer\S*|kup|kupuj|zapłać|zamów\S*|subskry\S*|koupit|objednat|satın al",
    r"купить|оплат\S*|заказать|подпис\S*|войти",
)
DANGEROUS_ANYWHERE = (
    "購入|購読|注文|支払|购买|購買|订阅|訂閱|付款|下单|구매|구독|결제",
    r"[€$£¥₹] ?\d|\d ?[€$£¥₹]",
)
LESS = r"less|fewer|weniger|moins|menos|meno|minder|mniej|меньше"
MORE = (
    r"(?:load|show|view|see|display|get|fetch)(?: \S+)? more(?: \S+){0,3}",
    r"more(?: (?:results?|posts?|comments?|items?|stories|articles?|products?|news|entries|events|videos?|photos?))?",
    r"mehr(?: \S+)? (?:laden|anzeigen|zeigen|sehen)|mehr|weitere(?: \S+){0,2} (?:laden|anzeigen|zeigen)",
    r"(?:voir|afficher|charger)(?: \S+)? (?:plus|davantage)(?: \S+){0,3}",
    r"(?:ver|cargar|mostrar) más(?: \S+){0,3}|(?:ver|carregar|mostrar) mais(?: \S+){0,3}",
    r"(?:mostra|carica|vedi) (?:altr[oiae]|di più)(?: \S+){0,3}",
    r"meer(?: \S+)? (?:laden|tonen|weergeven)|(?:laad|toon) meer",
    r"(?:visa|ladda|vis|last inn|hent) (?:fler|flere|mer|mere)(?: \S+)?|(?:pokaż|załaduj|zobacz) więcej",
    r"(?:показать|загрузить) (?:ещ[её]|больше)|(?:zobrazit|načíst) (?:více|další)|daha fazla (?:göster|yükle)",
    r"もっと(?:見る|読み込む|表示)|(?:加载|查看|显示|載入|顯示)更多|더 ?(?:보기|불러오기)",
)
NEXT = (
    r"next(?: page)?|[›»→>]+|weiter|nächste(?: seite)?|(?:page )?suivante?|siguiente|próxima?",
    r"(?:pagina )?(?:seguente|successiva)|volgende|nästa|næste|neste|następna|další|далее|следующая",
    r"次へ|次のページ|下一页|다음",
)
REJECT = (
    r"(?:reject|decline|deny|refuse)(?: (?:all|cookies|all cookies|optional cookies|additional cookies))?",
    r"(?:(?:accept|use|allow) )?(?:only )?(?:strictly )?(?:necessary|essential|required)(?: cookies)?(?: only)?",
    r"continue without (?:accepting|agreeing)|no,? thanks",
    r"(?:alle )?(?:cookies )?ablehnen",
    r"nur (?:notwendige|erforderliche|essenzielle)(?: cookies)?(?: akzeptieren| zulassen)?",
    r"(?:tout )?refuser(?: tout)?|continuer sans accepter|rechazar(?: todo| todas)?|rifiuta(?: tutto| tutti)?",
    r"recusar(?: tudo)?|rejeitar(?: tudo| todos)?|(?:alles )?weigeren|avvisa(?: alla)?|odrzuć(?: wszystkie)?",
    r"отклонить(?: все)?",
)
CLOSE = (r"close|dismiss|schließen|fermer|cerrar|chiudi|fechar|sluiten|stäng|zamknij|закрыть|[x×✕✖]",)
ACCEPT = (
    r"(?:i )?(?:accept|agree|allow)(?: (?:all|cookies|all cookies))?|ok|okay|got it|i understand|continue",
    r"(?:alle )?(?:cookies )?(?:akzeptieren|zustimmen)|einverstanden|verstanden|(?:tout )?accepter(?: tout)?|j accepte",
    r"aceptar(?: todo| todas)?|acepto|accetta(?: tutto| tutti)?|accetto|aceitar(?: tudo| todos)?",
    r"(?:alles )?accepteren|akkoord|acceptera(?: alla)?|godkänn|zaakceptuj(?: wszystkie)?|akceptuję|принять(?: все)?",
)
COOKIES = r"cookie|consent|gdpr|dsgvo|rgpd|datenschutz|einwillig|confidentialité|privacidad|privacy"
"""What the text of a consent banner has somewhere."""


def _whole(words: tuple[str, ...]) -> str:
    return f"^(?:{'|'.join(words)})$"


BUTTON_WORDS = {
    "danger": f"(?:^| )(?:{'|'.join(DANGEROUS)})(?= |$)|{'|'.join(DANGEROUS_ANYWHERE)}",
    "less": LESS,
    "more": _whole(MORE),
    "next": _whole(NEXT),
    "reject": _whole(REJECT),
    "close": _whole(CLOSE),
    "accept": _whole(ACCEPT),
    "cookies": COOKIES,
}
"""The expressions as values for a call into the page."""
