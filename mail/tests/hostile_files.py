"""Makes files that senders of mail do send by mistake or on purpose; none of them is stored in the repository.

``HOSTILE`` lists them. Each has the name of its file, a function that makes it, and a part of the reason that must be
reported, or None if it must be read in spite of everything.
"""

import base64
import gzip
import hashlib
import io
import os
import socket
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont, PngImagePlugin, TiffImagePlugin

from setrbm_mail import Limits

# Small enough for quick tests, large enough for every ordinary page.
LIMITS = Limits(
    file_bytes=20_000_000, pages=20, pixels=40_000_000, attachments=50, nesting=5, words=50_000, seconds=20.0,
    document_seconds=200.0, memory=500_000_000,
)  # fmt: skip


@dataclass(frozen=True)
class Hostile:
    """A file of the corpus."""

    name: str
    file: str
    write: Callable[[Path], None]
    reason: str | None


HOSTILE: list[Hostile] = []


def hostile(file: str, reason: str | None):
    """Add a function that returns the bytes of a file."""

    def add(make):
        HOSTILE.append(Hostile(make.__name__, file, lambda path: path.write_bytes(make()), reason))
        return make

    return add


def hostile_entry(file: str, reason: str | None):
    """Add a function that writes to a path."""

    def add(write):
        HOSTILE.append(Hostile(write.__name__, file, write, reason))
        return write

    return add


# PDF


def pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    """Return a PDF of numbered objects; the first is the catalog."""
    data, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, len(data))
    return data + head + table + end


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def typed(lines: list[str], size: int = 12) -> bytes:
    """Return page content that writes lines from the top."""
    shown = b"".join(b"(%s) ' " % line.encode("latin-1") for line in lines)
    return b"BT /F1 %d Tf %d TL 60 780 Td %s ET" % (size, size + 4, shown)


FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
LINES = ["Dear Sir or Madam,", "please close my account number 4711 today.", "Yours faithfully, Jane Doe"]


def one_page(content: bytes = typed(LINES), box: bytes = b"[0 0 595 842]", more: bytes = b"", trailer: bytes = b""):
    """Return a PDF of one page with this content."""
    return pdf(
        CATALOG + more,
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox %s /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> "
        b"/XObject << /X 6 0 R >> >> >>" % box,
        content if content.startswith(b"<<") else stream(content),
        FONT,
        b"null",
        trailer=trailer,
    )


def text_pdf(*pages: list[str], rotation: int = 0) -> bytes:
    """Return a born-digital PDF with these lines on its pages."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * k) for k in range(len(pages)))
    objects = [CATALOG, b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)), FONT]
    for k, lines in enumerate(pages):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate %d /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (rotation, 5 + 2 * k)
        )
        objects.append(stream(typed(lines)))
    return pdf(*objects)


def image_pdf(data: bytes, width: int, height: int, entries: bytes, note: bytes = b"") -> bytes:
    """Return a PDF whose page is one picture, with a text on top."""
    picture = b"/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8 /ColorSpace /DeviceGray %s"
    return pdf(
        CATALOG,
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> "
        b"/XObject << /X 6 0 R >> >> >>",
        stream(b"q 595 0 0 842 0 0 cm /X Do Q " + note),
        FONT,
        stream(data, picture % (width, height, entries)),
    )


PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def rc4(key: bytes, data: bytes) -> bytes:
    state, j, k = list(range(256)), 0, 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    found, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        k = state[(state[i] + state[j]) % 256]
        found.append(byte ^ k)
    return bytes(found)


def encrypted(password: bytes, owner: bytes = b"owner") -> bytes:
    """Return a PDF under the standard security handler with 40 bits; the content is object 4."""
    user = (password + PADDING)[:32]
    own = rc4(hashlib.md5((owner + PADDING)[:32]).digest()[:5], user)
    name = b"0123456789abcdef"
    key = hashlib.md5(user + own + struct.pack("<i", -4) + name).digest()[:5]
    content_key = hashlib.md5(key + struct.pack("<I", 4)[:3] + b"\0\0").digest()[:10]
    trailer = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<%s> <%s>]" % (
        own.hex().encode(), rc4(key, PADDING).hex().encode(), name.hex().encode(), name.hex().encode(),
    )  # fmt: skip
    return one_page(stream(rc4(content_key, typed(LINES))), trailer=trailer)


@hostile("password.pdf", "encrypted and needs a password")
def pdf_that_needs_a_password():
    return encrypted(b"secret")


@hostile("owner.pdf", None)
def pdf_encrypted_without_a_password():
    return encrypted(b"")


@hostile("unknown-encryption.pdf", "encrypted in an unknown way")
def pdf_with_unknown_encryption():
    return one_page(trailer=b"/Encrypt << /Filter /Nobody /V 9 /R 9 >> /ID [<00> <00>]")


@hostile("cut-head.pdf", "damaged")
def pdf_cut_after_its_head():
    return text_pdf(LINES)[:20]


@hostile("cut-middle.pdf", "damaged")
def pdf_cut_before_its_pages():
    return text_pdf(LINES)[:90]


@hostile("cut-end.pdf", "damaged")
def pdf_cut_after_its_pages():
    data = text_pdf(LINES)
    return data[: data.index(b"xref")]


@hostile("cut-table.pdf", None)
def pdf_cut_in_its_last_line():
    return text_pdf(LINES)[:-10]


@hostile("empty.pdf", "it is empty")
def empty_file():
    return b""


@hostile("no-pages.pdf", "damaged")
def pdf_with_no_pages():
    return pdf(CATALOG, b"<< /Type /Pages /Kids [] /Count 0 >>")


@hostile("cycle.pdf", "damaged")
def pdf_with_a_cyclic_page_tree():
    return pdf(CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 5 /Parent 2 0 R >>")


@hostile("many-claimed.pdf", None)
def pdf_that_claims_two_billion_pages():
    return one_page().replace(b"/Count 1 ", b"/Count 2147483647 ")


@hostile("million.pdf", "the limit is 14,400 (page_points)")
def pdf_with_a_page_of_a_million_points():
    return one_page(box=b"[0 0 1000000 1000000]")


@hostile("nan.pdf", None)
def pdf_with_a_box_of_nan():
    return one_page(box=b"[0 0 NaN NaN]")


@hostile("negative.pdf", None)
def pdf_with_a_negative_box():
    return one_page(box=b"[595 842 0 0]")


@hostile("zero.pdf", None)
def pdf_with_an_empty_box():
    return one_page(box=b"[0 0 0 0]")


@hostile("thread.pdf", None)
def pdf_with_a_page_as_thin_as_a_thread():
    return one_page(box=b"[0 0 14000 0.01]")


@hostile("nested.pdf", "damaged")
def pdf_with_deeply_nested_arrays():
    return one_page().replace(b"null", b"[" * 200_000 + b"]" * 200_000).replace(b"/Kids [3 0 R]", b"/Kids 6 0 R")


def squeezed(n_bytes: int, byte: bytes = b"\0", times: int = 2) -> bytes:
    """Return very many equal bytes, compressed a few times."""
    packer = zlib.compressobj(1)
    data = b"".join(packer.compress(byte * 1_000_000) for _ in range(n_bytes // 1_000_000)) + packer.flush()
    for _ in range(times - 1):
        data = zlib.compress(data, 9)
    return data


TWICE = b"/Filter [/FlateDecode /FlateDecode]"


@hostile("flate.pdf", "memory")
def pdf_whose_content_is_a_compression_bomb():
    return one_page(stream(squeezed(300_000_000, b"q "), TWICE))


@hostile("objects.pdf", "memory")
def pdf_whose_object_stream_is_a_bomb():
    bomb = stream(squeezed(600_000_000), TWICE + b" /Type /ObjStm /N 1 /First 5")
    return one_page().replace(b"null", bomb)


@hostile("picture.pdf", "the limit is 40,000,000 (pixels)")
def pdf_with_a_picture_bomb():
    return image_pdf(squeezed(100_000_000), 30_000, 30_000, TWICE)


@hostile("actions.pdf", None)
def pdf_that_would_start_programs():
    return one_page(
        more=b"/OpenAction << /S /JavaScript /JS (app.alert(1);) /Next << /S /Launch /F (run.sh) "
        b"/Win << /F (cmd.exe) >> >> >> /AA << /WC << /S /URI /URI (http://example.org/x) >> >> "
        b"/Names << /EmbeddedFiles << /Names [(a) << /F (../../a.txt) >>] >> >>"
    )


@hostile("outside.pdf", None)
def pdf_that_refers_to_files_outside():
    return one_page(typed(LINES) + b" /X Do").replace(
        b"null", stream(b"", b"/Type /XObject /Subtype /Image /Width 9 /Height 9 /F (../../../etc/passwd)")
    )


@hostile("garbage.pdf", None)
def pdf_with_garbage_for_text():
    table = b"1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <00> <FF> <E000> endbfrange"
    cmap = stream(b"/CIDInit /ProcSet findresource begin begincmap %s endcmap end" % table)
    return one_page().replace(b"null", cmap).replace(b"/Helvetica >>", b"/Helvetica /ToUnicode 6 0 R >>")


@hostile("crowded.pdf", None)
def pdf_with_a_hundred_thousand_characters():
    return one_page(typed(["lorem ipsum dolor sit amet " * 37] * 100, size=1))


@hostile("words.pdf", "the limit is 50,000 (words)")
def pdf_with_a_page_of_very_many_words():
    shown = b"BT /F1 1 Tf 1 TL 60 780 Td " + b"(a a a a a a a a a a a a a a a a a a a a) ' " * 5_000 + b"ET"
    return one_page(stream(zlib.compress(zlib.compress(shown, 9), 9), TWICE))


@hostile("forms.pdf", None)
def pdf_with_forms_inside_each_other():
    form = stream(b"/X Do", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>")
    return one_page(typed(LINES) + b" /X Do").replace(b"null", form)


# Pictures


def picture(width: int = 400, height: int = 300, mode: str = "L") -> Image.Image:
    """Return a light page with a dark bar at its top."""
    image = Image.new("L", (width, height), 255)
    ImageDraw.Draw(image).rectangle((width // 8, height // 16, width // 2, height // 8), fill=0)
    return image if mode == "L" else image.convert(mode)


def encoded(image: Image.Image, kind: str, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def scan(lines: list[str], dpi: int = 100) -> Image.Image:
    """Return a scanned page."""
    image = Image.new("L", (round(8.27 * dpi), round(11.69 * dpi)), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(dpi / 5)
    for k, line in enumerate(lines):
        draw.text((dpi, dpi + k * dpi * 0.4), line, fill=0, font=font)
    return image


def png(width: int, height: int, data: bytes, depth: int = 1, color: int = 0, before: bytes = b"") -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + before + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def tiff(*frames: list[tuple[int, int, int, int]], following: list[int] | None = None) -> bytes:
    """Return a little-endian TIFF of directories with entries (tag, type, number, value)."""
    sizes = [2 + 12 * len(entries) + 4 for entries in frames]
    starts = [8, *(8 + np.cumsum(sizes)[:-1]).tolist()]
    data = b"II*\0" + struct.pack("<I", 8)
    for entries, after in zip(frames, following or [*starts[1:], 0], strict=True):
        data += struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *one) for one in entries)
        data += struct.pack("<I", after)
    return data


def frame(width: int = 8, height: int = 8, place: int = 0, n_bytes: int = 8) -> list[tuple[int, int, int, int]]:
    return [
        (256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 1), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, place),
        (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, n_bytes),
    ]  # fmt: skip


@hostile("huge.png", "the limit is 40,000,000 (pixels)")
def png_of_400_megapixels():
    return png(20_000, 20_000, squeezed(50_000_000, b"\xff", times=1))


@hostile("huge.tif", "the limit is 40,000,000 (pixels)")
def tiff_of_400_megapixels():
    return tiff(frame(20_000, 20_000))


@hostile("huge.jpg", "the limit is 40,000,000 (pixels)")
def jpeg_of_400_megapixels():
    data = encoded(picture(), "JPEG")
    return data.replace(struct.pack(">HH", 300, 400), struct.pack(">HH", 20_000, 20_000))


@hostile("cut.jpg", "damaged")
def truncated_jpeg():
    data = encoded(scan(LINES), "JPEG")
    return data[: len(data) // 2]


@hostile("cut.png", "damaged")
def truncated_png():
    data = encoded(scan(LINES), "PNG")
    return data[: len(data) // 2]


@hostile("cut.tif", "damaged")
def truncated_tiff():
    data = encoded(scan(LINES), "TIFF", compression="tiff_lzw")
    return data[: len(data) // 2]


@hostile("half.jpg", "damaged")
def jpeg_that_ends_in_its_head():
    return encoded(picture(), "JPEG")[:30]


@hostile("frames.tif", "it has 5,000 pages; the limit is 20 (pages)")
def tiff_of_5000_blank_frames():
    return tiff(*[frame(place=0)] * 5000)


@hostile("cycle.tif", None)
def tiff_with_a_cycle_of_frames():
    return tiff(frame(), frame(), following=[8 + 2 + 9 * 12 + 4, 8])


@hostile("tags.tif", "damaged")
def tiff_with_absurd_tags():
    return tiff([(256, 4, 2**32 - 1, 2**32 - 1), (257, 12, 7, 3), (273, 4, 2**31, 5), (65000, 99, 2**32 - 1, 9)])


@hostile("strips.tif", "damaged")
def tiff_with_its_strips_outside():
    return tiff(frame(place=2**32 - 2, n_bytes=2**31))


@hostile("chunks.png", "damaged")
def png_with_huge_text_chunks():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", "a" * 50_000_000, zip=True)
    return encoded(picture(), "PNG", pnginfo=notes)


@hostile("animated.png", None)
def animated_png():
    return encoded(picture(), "PNG", save_all=True, append_images=[picture().rotate(90)] * 30)


@hostile("cmyk.jpg", None)
def cmyk_jpeg():
    return encoded(picture(mode="CMYK"), "JPEG")


@hostile("deep.png", None)
def png_of_16_bits():
    return encoded(Image.fromarray(np.asarray(picture(), dtype=np.uint16) * 257), "PNG")


@hostile("float.tif", None)
def tiff_of_floats():
    values = np.asarray(picture(), dtype=np.float32)
    values[-1, -3:] = np.nan, 256.0, 0.0
    return encoded(Image.fromarray(values), "TIFF")


@hostile("palette.png", None)
def png_with_palette_and_transparency():
    return encoded(picture(mode="P"), "PNG", transparency=bytes([255] * 128 + [0] * 128))


@hostile("bits.png", None)
def png_of_one_bit_with_transparency():
    rows = b"".join(b"\0" + b"\xf0" * 50 for _ in range(300))
    return png(400, 300, zlib.compress(rows), before=chunk(b"tRNS", b"\0\1"))


@hostile("turned.jpg", None)
def jpeg_turned_by_its_record():
    record = Image.Exif()
    record[0x0112] = 6
    return encoded(picture().transpose(Image.Transpose.ROTATE_90), "JPEG", exif=record)


@hostile("turned.tif", None)
def tiff_turned_by_its_record():
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[0x0112] = 6
    return encoded(picture().transpose(Image.Transpose.ROTATE_90), "TIFF", tiffinfo=tags)


@hostile("dot.png", None)
def picture_of_one_pixel():
    return encoded(Image.new("L", (1, 1), 0), "PNG")


@hostile("line.png", None)
def picture_one_pixel_high():
    return encoded(Image.new("L", (60_000, 1), 0), "PNG")


@hostile("line.jpg", None)
def jpeg_one_pixel_high():
    return encoded(Image.new("L", (60_000, 1), 0), "JPEG")


@hostile("dpi.png", None)
def png_with_absurd_resolution():
    return encoded(picture(), "PNG", dpi=(1e-3, 1e6))


# Archives and files that lie about their type


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../letter.pdf", text_pdf(LINES))
        archive.writestr("zeros", bytes(10_000_000))
    return file.getvalue()


ARCHIVE = "archives are not read"


@hostile("letters.zip", ARCHIVE)
def zip_archive():
    return zipped()


@hostile("zip.pdf", ARCHIVE)
def zip_named_pdf():
    return zipped()


@hostile("letter.pdf.gz", ARCHIVE)
def gzip_archive():
    return gzip.compress(text_pdf(LINES))


@hostile("letters.7z", ARCHIVE)
def archive_of_7z():
    return b"7z\xbc\xaf\x27\x1c" + bytes(100)


@hostile("letters.rar", ARCHIVE)
def archive_of_rar():
    return b"Rar!\x1a\x07\x01\0" + bytes(100)


def zip_of(*names: str, content: bytes = b"<xml/>") -> bytes:
    """Return an archive with these entries, the first of them stored as it is."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for k, name in enumerate(names):
            archive.writestr(name, content, zipfile.ZIP_DEFLATED if k else zipfile.ZIP_STORED)
    return file.getvalue()


OFFICE = "Office files are not read; export it to PDF first"


@hostile("letter.docx", OFFICE)
def office_text():
    return zip_of("[Content_Types].xml", "_rels/.rels", "word/document.xml")


@hostile("unordered.docx", OFFICE)
def office_text_with_another_order():
    return zip_of("word/numbering.xml", "word/document.xml", "[Content_Types].xml", content=os.urandom(40_000))


@hostile("table.xlsx", OFFICE)
def office_table():
    return zip_of("docProps/app.xml", "docProps/core.xml", "xl/workbook.xml", "[Content_Types].xml")


@hostile("letter.odt", OFFICE)
def open_document():
    return zip_of("mimetype", "content.xml", content=b"application/vnd.oasis.opendocument.text")


@hostile("letter.doc", OFFICE)
def office_text_of_an_older_version():
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(3000)


@hostile("word.zip", ARCHIVE)
def zip_with_a_folder_named_like_one_of_office():
    return zip_of("word/letter.pdf", "word/document.txt")


@hostile("book.zip", ARCHIVE)
def zip_with_another_mimetype():
    return zip_of("mimetype", "book.html", content=b"application/epub+zip")


@hostile("cut.zip", ARCHIVE)
def zip_cut_in_its_first_entry():
    return zip_of("mimetype")[:20]


@hostile("jpeg.pdf", None)
def jpeg_named_pdf():
    return encoded(picture(), "JPEG")


@hostile("pdf.jpg", None)
def pdf_named_jpg():
    return text_pdf(LINES)


@hostile("text.pdf", "its format is unknown")
def text_named_pdf():
    return b"This is only a text.\n"


@hostile("page.tif", "its format is unknown")
def web_page_named_tif():
    return b"<!DOCTYPE html><html><script>alert(1)</script></html>"


@hostile("program", "its format is unknown")
def program():
    return b"\x7fELF" + os.urandom(1000)


@hostile("large.pdf", "the limit is 20,000,000 (file_bytes)")
def file_larger_than_the_limit():
    return text_pdf(LINES) + bytes(20_000_000)


# Mails


HEAD = b"From: jane@example.org\r\nTo: bank@example.org\r\nSubject: My account\r\nMIME-Version: 1.0\r\n"


def attached(data: bytes, name: str = 'filename="a.pdf"', kind: str = "application/octet-stream") -> bytes:
    """Return an attachment as a part."""
    head = f"Content-Type: {kind}\r\nContent-Disposition: attachment; {name}\r\nContent-Transfer-Encoding: base64"
    return head.encode("utf-8") + b"\r\n\r\n" + base64.encodebytes(data).replace(b"\n", b"\r\n")


def mail(
    *parts: bytes, text: bytes = b"Please find my letter attached.", end: bool = True, head: bytes = HEAD
) -> bytes:
    """Return a mail with a text and parts."""
    data = head + b'Content-Type: multipart/mixed; boundary="=sep"\r\n\r\n'
    for part in (b"Content-Type: text/plain\r\n\r\n" + text + b"\r\n", *parts):
        data += b"--=sep\r\n" + part + b"\r\n"
    return data + (b"--=sep--\r\n" if end else b"")


def nested(depth: int, inside: bytes) -> bytes:
    """Return a mail in a mail in a mail."""
    for k in range(depth):
        inside = HEAD + b"X-Level: %d\r\nContent-Type: message/rfc822\r\n\r\n" % k + inside
    return inside


@hostile("nobody.eml", "neither text nor attachments")
def mail_without_subject_and_body():
    return b"From: a@example.org\r\nTo: b@example.org\r\n\r\n"


@hostile("heads.eml", None)
def mail_of_fields_only():
    return HEAD.rstrip()


@hostile("base64.eml", "damaged")
def mail_with_broken_base64():
    return mail(attached(text_pdf(LINES)).replace(b"A", b"!", 30)[:-200])


@hostile("charset.eml", None)
def mail_in_an_unknown_charset():
    return HEAD + b"Content-Type: text/plain; charset=klingon\r\n\r\nPlease close my account \xff\xfe.\r\n"


@hostile("subject.eml", None)
def mail_with_a_damaged_subject():
    head = HEAD.replace(b"My account", b"=?utf-8?b?!!!?= =?nope?q?=ff?= \xff\xfe")
    return head + b"Content-Type: text/plain; charset*0=a; charset*=b\r\n\r\nPlease close my account.\r\n"


@hostile("zip.eml", ARCHIVE)
def mail_with_archives():
    return mail(attached(zipped(), 'filename="letters.zip"'), attached(gzip.compress(b"x")))


@hostile("office.eml", OFFICE)
def mail_with_an_office_file():
    return mail(attached(office_text(), 'filename="letter.docx"'))


NAMES = {
    "up": 'filename="../../../../evil.bin"', "root": 'filename="/etc/cron.d/evil"',
    "drive": 'filename="C:\\\\Windows\\\\evil.bin"', "nul": 'filename="a\0.bin"',
    "encoded nul": "filename*=utf-8''a%00%0Ab.bin",
    "markup": 'filename="<script>alert(1)</script>.bin"', "long": f'filename="{"n" * 5000}.bin"',
    "right to left": 'filename="invoice\u202excod.exe"', "none": 'filename=""', "dots": 'filename=".."',
    "continued": "filename*=a; filename*0=b", "absurd": f"filename*0=x; filename*{'9' * 5000}=y",
}  # fmt: skip


@hostile("names.eml", "its format is unknown")
def mail_with_hostile_names():
    return mail(*[attached(b"nothing", name) for name in NAMES.values()])


@hostile("thousand.eml", "more than 50 attachments (attachments)")
def mail_with_a_thousand_attachments():
    return mail(*[attached(b"nothing")] * 1000)


@hostile("deep.eml", "nested more than 5 deep (nesting)")
def mail_nested_50_deep():
    return nested(50, mail())


@hostile("abyss.eml", "nested too deep")
def mail_nested_5000_deep():
    return nested(5000, mail())


@hostile("parts.eml", "nested too deep")
def mail_of_parts_in_parts():
    opened = (b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (k, k) for k in range(3000))
    return HEAD + b"".join(opened) + b"\r\nend"


@hostile("loop.eml", "nested more than 5 deep (nesting)")
def mail_that_attaches_itself_again_and_again():
    inside = mail()
    for _ in range(8):
        inside = mail(attached(inside, 'filename="loop.eml"'))
    return inside


@hostile("endless.eml", None)
def mail_without_end_boundary():
    return mail(attached(text_pdf(LINES)), end=False)


@hostile("boundary.eml", "damaged")
def mail_with_a_damaged_boundary():
    return HEAD + b"Content-Type: multipart/mixed; boundary*0=a; boundary*=b\r\n\r\n--ab\r\n\r\nhello\r\n"


@hostile("fields.eml", None)
def mail_with_a_million_bytes_of_fields():
    return HEAD + b"X-Field: a\r\n" * 100_000 + b"X-Long: " + b"a " * 500_000 + b"\r\n\r\nPlease close my account.\r\n"


@hostile("parameters.eml", "its format is unknown")
def mail_with_very_many_parameters():
    return mail(attached(b"nothing", "; ".join(f'a{k}="b;"' for k in range(2000))))


@hostile("crashing.eml", "damaged")
def mail_with_a_damaged_attachment():
    return mail(attached(text_pdf(LINES)[:90]), attached(text_pdf(LINES)))


@hostile("control.eml", None)
def mail_with_control_characters():
    return HEAD + b"\r\n\x00\x1b[31mPlease\x00 close \xe2\x80\xae my account\x07.\r\n"


# Entries of a folder that are no ordinary files


@hostile_entry("out.pdf", "symbolic link out of the folder")
def link_out_of_the_folder(path):
    path.symlink_to("/etc/passwd")


@hostile_entry("self.pdf", "does not lead to a file")
def link_to_itself(path):
    path.symlink_to(path.name)


@hostile_entry("gone.pdf", "does not lead to a file")
def link_to_nothing(path):
    path.symlink_to("nothing-here.pdf")


@hostile_entry("up", "symbolic link out of the folder")
def link_to_the_folder_above(path):
    path.symlink_to("..")


@hostile_entry("here", "does not lead to a file")
def link_to_the_folder_itself(path):
    path.symlink_to(".")


@hostile_entry("pipe.pdf", "neither a file nor a folder")
def named_pipe(path):
    os.mkfifo(path)


@hostile_entry("socket.pdf", "neither a file nor a folder")
def unix_socket(path):
    # The paths of sockets must be short.
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


@hostile_entry("locked.pdf", None if os.geteuid() == 0 else "the file cannot be read: Permission denied")
def file_without_permission(path):
    path.write_bytes(text_pdf(LINES))
    path.chmod(0)


@hostile_entry("line\nbreak\x1b[31m.pdf", None)
def name_with_control_characters(path):
    path.write_bytes(text_pdf(LINES))


@hostile_entry(os.fsdecode(b"caf\xe9\xff.pdf"), None)
def name_that_is_not_utf8(path):
    path.write_bytes(text_pdf(LINES))


@hostile_entry("back\\slash\u202efdp.exe", None)
def name_that_turns_the_direction(path):
    path.write_bytes(text_pdf(LINES))


@hostile_entry("n" * 251 + ".pdf", None)
def name_of_255_characters(path):
    path.write_bytes(text_pdf(LINES))


@hostile_entry("a", "its format is unknown")
def folders_nested_1200_deep(path):
    with chdir(path.parent):
        for _ in range(1200):
            os.mkdir("a")
            os.chdir("a")
        Path("x.pdf").write_bytes(b"nothing")


@hostile_entry("sparse.pdf", "the limit is 20,000,000 (file_bytes)")
def sparse_file_of_a_terabyte(path):
    with path.open("wb") as file:
        file.truncate(1_000_000_000_000)


@hostile_entry("pictures", "it is empty")
def folder_of_pictures_with_an_empty_one(path):
    path.mkdir()
    (path / "1.png").write_bytes(encoded(picture(), "PNG"))
    (path / "2.png").write_bytes(b"")
