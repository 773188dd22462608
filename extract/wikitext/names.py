"""List the names with a meaning in links and headings, in the languages of the largest Wikipedias.

They come from the localisation of MediaWiki (languages/messages); the names of sections come from those Wikipedias.
"""

import re

from thresher.extract.wikitext.marks import REMOVED_MARK


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


FILES = _words(
    """file image media datei bild medium fichier média archivo imagen medio immagine ficheiro imagem arquivo bestand
    afbeelding plik grafika файл изображение медиа ファイル 画像 メディア 文件 档案 檔案 图像 圖像 媒体 ملف صورة
    وسائط fil
    зображення файл fitxer imatge soubor dosya resim tập_tin hình 파일 그림 미디어 پرونده رسانه קובץ תמונה tiedosto
    kuva
    fájl kép fișier imagine fișier berkas gambar αρχείο εικόνα файл картинка датотека слика datoteka slika súbor
    obrázok
    failas vaizdas attēls pilt fitxategi irudi dosiero bilde mynd चित्र ছবি படிமம் ไฟล์ ภาพ"""
)
CATEGORIES = _words(
    """category kategorie catégorie categoría categoria categorie kategoria категория カテゴリ 分类 分類 تصنيف
    kategori
    категорія categoria kategória thể_loại 분류 رده קטגוריה luokka kategória categorie kategori κατηγορία категория
    категорија kategorija kategooria kategoria kategorio flokkur श्रेणी বিষয়শ্রেণী பகுப்பு หมวดหมู่
    """
)
LANGUAGES = _words(
    """aa ab ace af ak als am an ang ar arc ary arz as ast av avk ay az azb ba ban bar bcl be bg bh bi bjn bm bn bo
    bpy
    br bs bug bxr ca cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da de din diq dsb dty dv dz ee el eml
    en eo
    es et eu ext fa ff fi fj fo fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gu gv ha hak haw he hi hif
    ho
    hr hsb ht hu hy hyw hz ia id ie ig ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd kbp kg ki kj kk kl km kn
    ko koi kr krc ks ksh ku kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai mdf mg mh
    mhr mi min mk ml mn mni mnw mr mrj ms mt mus mwl my myv mzn na nah nan nap nds ne new ng nia nl nn no nov nqo nrm
    nso nv ny oc olo om or os pa pag pam pap pcd pdc pfl pi pih pl pms pnb pnt ps pt qu rm rmy rn ro ru rue rup rw sa
    sah sat sc scn sco sd se sg sgs sh shn si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw szl szy ta
    tay
    tcy te tet tg th ti tk tl tn to tpi tr ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu
    xal xh xmf yi yo yue za zea zh zu bat-smg be-tarask be-x-old cbk-zam fiu-vro map-bms nds-nl roa-rup roa-tara
    zh-classical zh-min-nan zh-yue
    """
)
PROJECTS = _words(
    """w wikipedia wikt wiktionary n wikinews b wikibooks q wikiquote s wikisource v wikiversity voy wikivoyage c
    commons m meta d wikidata species wikispecies mw mediawikiwiki foundation
    """
)
APPENDICES = frozenset(
    line.strip()
    for line in """
    references|notes|notes and references|references and notes|footnotes|citations|sources|bibliography|works cited
    see also
    external links|external link|further reading|literature|notes and citations|citations and references|reference
    einzelnachweise|weblinks|literatur|siehe auch|anmerkungen|quellen|belege|fußnoten|nachweise
    anmerkungen und einzelnachweise
    notes et références|références|notes|liens externes|lien externe|voir aussi|bibliographie|articles connexes
    annexes
    referencias|notas|notas y referencias|enlaces externos|véase también|bibliografía|fuentes
    note|collegamenti esterni|altri progetti|voci correlate|bibliografia|riferimenti
    referências|ligações externas|ver também|bibliografia|notas e referências|ligação externa
    bronnen|externe links|externe link|zie ook|literatuur|referenties|voetnoten|noten|bronnen, noten en/of referenties
    przypisy|linki zewnętrzne|zobacz też|bibliografia|uwagi
    примечания|ссылки|см. также|литература|источники|библиография
    脚注|注釈|出典|参考文献|外部リンク|関連項目|関連文献|注釈・出典
    参考文献|参考资料|參考資料|外部链接|外部連結|参见|參見|注释|註釋|参考|參考|相关条目|延伸阅读|資料來源
    مراجع|المراجع|وصلات خارجية|انظر أيضًا|انظر أيضا|المصادر|مصادر|هوامش|روابط خارجية
    referenser|källor|externa länkar|se även|noter|litteratur
    примітки|посилання|див. також|джерела|література
    referències|enllaços externs|vegeu també|bibliografia
    kaynakça|dış bağlantılar|ayrıca bakınız|notlar
    tham khảo|liên kết ngoài|xem thêm|chú thích
    각주|같이 보기|외부 링크|참고 문헌
    منابع|پانویس|پیوند به بیرون|جستارهای وابسته
    reference|externí odkazy|související články|literatura|poznámky
    lähteet|aiheesta muualla|katso myös|viitteet
    jegyzetek|források|további információk|lásd még
    referanser|eksterne lenker|se også|kilder
    referencer|eksterne henvisninger|se også
    referensi|pranala luar|lihat pula|catatan kaki
    הערות שוליים|קישורים חיצוניים|ראו גם|לקריאה נוספת
    παραπομπές|εξωτερικοί σύνδεσμοι|δείτε επίσης|πηγές
    note|legături externe|vezi și|bibliografie
    бележки|външни препратки|вижте също|източници
    """.replace("\n", "|").split("|")
    if line.strip()
)
"""Headings, in lower case, of sections that list only works, links and articles."""
REDIRECTS = _words(
    """redirect weiterleitung redirection redirección rinvia redirecionamento doorverwijzing patrz przekieruj tam
    перенаправление перенапр 転送 リダイレクト 重定向 تحويل omdirigering перенаправлення yönlendirme đổi 넘겨주기
    تغییرمسیر
    přesměruj ohjaus uudelleenohjaus átirányítás omdirigér alih הפניה ανακατευθυνση redirecteaza виж пренасочване"""
)
_ELSEWHERE = PROJECTS | LANGUAGES
_REDIRECT = re.compile(r"\s*+#\s*+([^\W\d_]+)\s*+:?+\s*+\[\[")
_PICTURE = re.compile(
    r"\.(?:jpe?g|png|svg|gif|tiff?|webp|webm|og[gav]|mp[34]|flac|wav|pdf|djvu?)\s*$", re.IGNORECASE
)
_IN_PARENTHESES = re.compile(r"(?:\([^()]*+\)|（[^（）]*+）)$")


def is_redirect(text: str) -> bool:
    """Return whether the page only redirects to another."""
    found = _REDIRECT.match(text)
    return found is not None and found[1].lower() in REDIRECTS


def link_text(parts: list[str]) -> str:
    """Return the text that `[[target|label]]` shows."""
    target, labels = parts[0].strip(), parts[1:]
    is_shown = target.startswith(":")
    prefix, colon, rest = target.lstrip(":").partition(":")
    space = prefix.strip().lower().replace(" ", "_")
    if not is_shown and colon and (space in FILES or space in CATEGORIES or prefix in LANGUAGES):
        return REMOVED_MARK
    if len(labels) and not is_shown and _PICTURE.search(target):
        return REMOVED_MARK
    if labels and (label := "|".join(labels).strip()):
        return label
    name = _without_projects(target.lstrip(":")) if colon else target
    if labels:  # `[[Mast (ship)|]]` is short for `[[Mast (ship)|Mast]]`
        return _IN_PARENTHESES.sub("", name.rpartition(":")[2]).rstrip()
    return name.lstrip("#").replace("#", " § ").replace("_", " ") if rest or not colon else target


def _without_projects(target: str) -> str:
    """Return the title without prefixes of projects and languages: `Haus` for `w:de:Haus`."""
    for _ in range(2):
        prefix, colon, rest = target.partition(":")
        if not colon or not rest or prefix.strip().lower() not in _ELSEWHERE:
            return target
        target = rest.strip()
    return target
