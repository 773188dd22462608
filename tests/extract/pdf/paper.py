"""PDFs as small as they can be, for tests: text at places, pictures, forms, notes, a password."""

import hashlib
import zlib
from dataclasses import dataclass

PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
"""ISO 32000-1, algorithm 2, step a."""
LEADING = 14


@dataclass(frozen=True)
class Scan:
    """A picture that covers the page: a byte a pixel."""

    width: int
    height: int
    pixels: bytes


def escaped(text):
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252")


def at(x, y, *lines, size=11, font="F", angle=0):
    """A program that writes lines downwards from a place, `y` from the foot of the page."""
    turn = {0: b"1 0 0 1", 90: b"0 1 -1 0", 180: b"-1 0 0 -1", 270: b"0 -1 1 0"}[angle]
    shown = b" T* ".join(b"(%s) Tj" % escaped(line) for line in lines)
    return b"BT /%s %d Tf %d TL %s %d %d Tm %s ET\n" % (
        font.encode(),
        size,
        LEADING * size // 11,
        turn,
        x,
        y,
        shown,
    )


def glyphs(x, y, numbers, size=11):
    """A program that shows glyphs of the font that has its own numbers for them."""
    return b"BT /G %d Tf 1 0 0 1 %d %d Tm <%s> Tj ET\n" % (
        size,
        x,
        y,
        "".join(f"{n:04x}" for n in numbers).encode(),
    )


def stream(data, said=b"", *, packed=False):
    if packed:
        data, said = zlib.compress(data, 9), said + b"/Filter/FlateDecode"
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (said, len(data), data)


def pdf_file(objects, *, root=1, trailer=b""):
    """The file of numbered objects."""
    out, places = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table, size = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    out += b"".join(
        b"%010d 00000 %s \n" % (places.get(n, 0), b"n" if n in places else b"f") for n in range(1, size)
    )
    return out + b"trailer\n<</Size %d/Root %d 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        root,
        trailer,
        table,
    )


def make_pdf(
    *pages,
    title="",
    date="",
    language="",
    rotate=0,
    mapping=None,
    notes=b"",
    extra=None,
    resources=b"",
    password=None,
    packed=False,
    inherited=False,
):
    """A PDF of some pages, each a program (bytes) or a `Scan`.

    `mapping` says which character each number of a glyph is (`glyphs`). `password` encrypts it for whoever has no such
    word; empty for everybody. If `inherited`, the pages have no resources but those of the page tree.
    """
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R%s>>" % (b"/Lang(%s)" % language.encode() if language else b""),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        4: b"<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>",
        5: b"<</Type/Font/Subtype/Type0/BaseFont/Own/Encoding/Identity-H/DescendantFonts[6 0 R]%s>>"
        % (b"/ToUnicode 8 0 R" if mapping else b""),
        6: b"<</Type/Font/Subtype/CIDFontType2/BaseFont/Own/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
        b"/DW 600/FontDescriptor 7 0 R>>",
        7: b"<</Type/FontDescriptor/FontName/Own/Flags 4/FontBBox[0 -200 1000 800]/ItalicAngle 0/Ascent 800/Descent -200"
        b"/CapHeight 700/StemV 80>>",
        8: stream(_map(mapping or {})),
        9: b"<</Title<%s>/CreationDate(%s)>>" % (_utf16(title), date.encode()),
        **(extra or {}),
    }
    kids = []
    for page in pages:
        number = max(*objects, 99) + 1
        kids.append(b"%d 0 R" % number)
        used, program = resources, page
        if isinstance(page, Scan):
            objects[number + 2] = stream(
                page.pixels,
                b"/Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8"
                % (page.width, page.height),
                packed=True,
            )
            used, program = b"/XObject<</S %d 0 R>>" % (number + 2), b"q 612 0 0 792 0 0 cm /S Do Q"
        own = b"/Resources<</Font<</F 3 0 R/C 4 0 R/G 5 0 R>>%s>>" % used
        objects[number] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Rotate %d/Contents %d 0 R%s"
            b"%s>>" % (rotate, number + 1, notes, b"" if inherited else own)
        )
        objects[number + 1] = stream(program, packed=packed)
    shared = own if inherited else b""
    objects[2] = b"<</Type/Pages/Kids[%s]/Count %d%s>>" % (b" ".join(kids), len(kids), shared)
    trailer = b"/Info 9 0 R"
    if password is not None:
        objects, said = _encrypted({n: body for n, body in objects.items() if n != 9}, password.encode())
        trailer = said
    return pdf_file(objects, trailer=trailer)


def _utf16(text):
    return (b"\xfe\xff" + text.encode("utf-16-be")).hex().encode()


def _map(mapping):
    pairs = b"".join(b"<%04x><%s>\n" % (n, c.encode("utf-16-be").hex().encode()) for n, c in mapping.items())
    return (
        b"/CIDInit/ProcSet findresource begin 12 dict begin begincmap /CMapName/X def 1 begincodespacerange <0000><ffff> "
        b"endcodespacerange %d beginbfchar\n%sendbfchar endcmap end end" % (len(mapping), pairs)
    )


def _encrypted(objects, password):
    """The objects with their streams encrypted, and what the trailer says (ISO 32000-1, 7.6.2 to 7.6.3, revision 2)."""
    padded = (password + PADDING)[:32]
    owner = _rc4(hashlib.md5(b"owner" + PADDING[:27]).digest()[:5], padded)
    identity = bytes(16)
    key = hashlib.md5(padded + owner + (0xFFFFFFFC).to_bytes(4, "little") + identity).digest()[:5]
    locked = {}
    for number, body in objects.items():
        head, found, rest = body.partition(b">>stream\n")
        if found:
            data = rest.removesuffix(b"\nendstream")
            own = hashlib.md5(key + number.to_bytes(3, "little") + bytes(2)).digest()[:10]
            locked[number] = head + found + _rc4(own, data) + b"\nendstream"
        else:
            locked[number] = body
    said = b"/Encrypt<</Filter/Standard/V 1/R 2/O<%s>/U<%s>/P -4>>/ID[<%s><%s>]" % (
        owner.hex().encode(),
        _rc4(key, PADDING).hex().encode(),
        identity.hex().encode(),
        identity.hex().encode(),
    )
    return locked, said


def _rc4(key, data):
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
