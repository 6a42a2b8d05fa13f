"""Layouts of contracts and general conditions."""

from __future__ import annotations

from setrbm_mail.generate.sheet import Sheet


def contract(sheet: Sheet) -> None:
    """Draw a contract between two parties, in numbered sections, with two signatures."""
    writer = sheet.writer
    title = sheet.pick(
        ("Agreement", "Deed"), ("Contract", "Service Contract", "INSURANCE CONTRACT", "Contract of Supply")
    )
    centered = sheet.pick((False, True), (True, True, False))
    sheet.put(sheet.width / 2 if centered else 64, 72, title, 20, bold=True, align="center" if centered else "left")
    y = 104.0
    intro = sheet.pick(
        ("made on {date} by {company}, the provider, with {name} of {city}, the customer:",),
        (
            "between {company}, {street}, {city}, and {name}, {street}, {city}, dated {date}.",
            "This contract is made on {date} between {name}, {city}, and {company}, {city}.",
        ),
    )
    y = sheet.flow(64, y, sheet.width - 128, writer.filled(intro), 10) + 12
    section = 1
    heading = sheet.pick(("({}) Matter", "* {} *"), ("Section {}", "{}. Obligations", "{}. General", "Article {}"))
    while y < sheet.height - 190:
        sheet.put(64, y, heading.format(section), 10.5, bold=True)
        text = " ".join(writer.filler("clause") for _ in range(int(sheet.rng.integers(2, 5))))
        y = sheet.flow(64, y + 15, sheet.width - 128, text, 9.5, justify=True, bottom=sheet.height - 150) + 8
        section += 1
    for k, label in enumerate(
        sheet.pick(
            (("Provider", "Customer"),), (("For the company", "The policyholder"), ("First party", "Second party"))
        )
    ):
        x = 64 + 250 * k
        sheet.signature(x + 12, sheet.height - 92, 100)
        sheet.canvas.line(x, sheet.height - 84, x + 190, sheet.height - 84)
        sheet.put(x, sheet.height - 72, label, 8)


def general_conditions(sheet: Sheet) -> None:
    """Draw small print in dense columns."""
    writer = sheet.writer
    columns = sheet.pick((3, 3, 1), (2, 2, 4))
    title = sheet.pick(
        ("Rules for users", "Small print"),
        ("General Terms and Conditions", "GENERAL CONDITIONS OF INSURANCE", "Terms of Business"),
    )
    sheet.put(44, 52, title, 14, bold=True)
    size, gap = sheet.between(6.2, 7.2) if columns == 4 else sheet.between(7.0, 8.2), 14.0
    width = (sheet.width - 88 - gap * (columns - 1)) / columns
    heading = sheet.pick(("No. {}", "({})"), ("Section {}", "{}. Scope", "{}."))
    section, bottom = 1, sheet.height - 50
    for k in range(columns):
        x, y = 44 + k * (width + gap), 76.0
        while y < bottom - 30:
            sheet.put(x, y, heading.format(section), size + 0.5, bold=True)
            text = " ".join(writer.filler("clause") for _ in range(int(sheet.rng.integers(2, 6))))
            y = sheet.flow(x, y + 1.5 * size, width, text, size, leading=1.22, justify=True, bottom=bottom) + size
            section += 1
    sheet.put(
        sheet.width / 2,
        sheet.height - 26,
        sheet.pick(("as of {}",), ("Version {}", "Edition {}")).format(writer.integer(2015, 2025)),
        7,
        align="center",
    )
