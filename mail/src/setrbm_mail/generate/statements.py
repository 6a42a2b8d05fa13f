"""Layouts of tax notices and payslips: tables of figures."""

from __future__ import annotations

from setrbm_mail.generate import vocabulary
from setrbm_mail.generate.parts import person_lines, table
from setrbm_mail.generate.sheet import Sheet
from setrbm_mail.generate.writing import money

TAX_ROWS = {
    "a": ("Takings", "Upkeep", "Base", "Levy", "Prepaid", "Church share", "Balance"),
    "b": (
        "Income from employment",
        "Other income",
        "Deductions",
        "Personal allowance",
        "Taxable income",
        "Income tax",
        "Tax withheld",
        "Prepayments",
        "Solidarity surcharge",
        "Remaining amount",
    ),
}


def tax_notice(sheet: Sheet) -> None:
    """Draw the assessment of a tax office: facts, a table of figures, instructions."""
    writer = sheet.writer
    office = sheet.pick(
        ("Levy Board of {city}", "Fiscal Desk {city}"),
        ("Tax Office {city}", "Department of Revenue", "Internal Revenue Office {city}"),
    )
    sheet.put(64, 62, writer.filled(office), 14, bold=True)
    sheet.canvas.line(64, 70, sheet.width - 64, 70, 1.0)
    sheet.put_lines(64, 120, person_lines(sheet), 10)
    sheet.put_lines(
        sheet.pick((64.0,), (370.0,)),
        sheet.pick((186.0,), (120.0,)),
        (f"{sheet.pick(('Mark',), ('Tax number',))} {writer.digits(9)}", writer.date(), writer.filled("{phone}")),
        9,
    )
    title = sheet.pick(
        ("Levy of year {}", "Assessed levy {}"),
        ("Notice of assessment {}", "Income tax notice for {}", "TAX NOTICE {}"),
    )
    sheet.put(64, 250, title.format(writer.integer(2015, 2025)), 15, bold=True)
    header = sheet.pick(
        (("Entry", "You", "Spouse"),), (("Item", "Amount", "Assessed"), ("Calculation", "Declared", "Accepted"))
    )
    rows = [
        [label, *(f"{writer.cents(40, 60_000) / 100:,.2f}" for _ in header[1:])] for label in TAX_ROWS[writer.style]
    ]
    width = sheet.width - 128
    y = table(
        sheet,
        64,
        268,
        [width - 200, 100, 100],
        [list(header), *rows],
        9,
        ruled=sheet.pick((True, False), (False, True)),
    )
    paragraphs = [writer.filler("clause") for _ in range(int(sheet.rng.integers(4, 8)))]
    sheet.flow_all(64, y + 28, width, paragraphs, 9.5, bottom=sheet.height - 60)


PAY_ROWS = {
    "a": ("Base wage", "Shift extra", "Levy", "Pension fund", "Sick fund", "Canteen"),
    "b": (
        "Basic salary",
        "Overtime",
        "Bonus",
        "Travel allowance",
        "Gross pay",
        "Income tax",
        "Pension contribution",
        "Health insurance",
        "Unemployment insurance",
    ),
}


def payslip(sheet: Sheet) -> None:
    """Draw a statement of pay: employer, employee, a table of earnings and deductions, net pay."""
    writer = sheet.writer
    title = sheet.pick(("Wage sheet", "Pay account"), ("PAYSLIP", "Earnings statement", "Salary statement"))
    sheet.canvas.box(48, 44, sheet.width - 48, 150, 0.8)
    sheet.put(58, 66, writer.company(), 13, bold=True)
    sheet.put(sheet.width - 58, 66, f"{title} {writer.filled('{month} {year}')}", 12, bold=True, align="right")
    labels = sheet.pick(
        (("Worker", "Staff mark", "Class"),),
        (("Employee", "Personnel no.", "Tax class"), ("Name", "Employee ID", "Department")),
    )
    values = (writer.sender, writer.digits(6), str(writer.integer(1, 6)))
    for k, (label, value) in enumerate(zip(labels, values, strict=True)):
        sheet.put(58 + 165 * k, 100, label, 7.5, gray=60)
        sheet.put(58 + 165 * k, 114, value, 10)
    header = sheet.pick(
        (("Kind", "Hours", "Sum"),),
        (("Description", "Rate", "Units", "Amount"), ("Pay item", "Basis", "Percent", "This month")),
    )
    rows = [[label, *(f"{writer.cents(10, 4_000) / 100:,.2f}" for _ in header[1:])] for label in PAY_ROWS[writer.style]]
    width = sheet.width - 96
    others = [84.0] * (len(header) - 1)
    y = table(
        sheet,
        48,
        170,
        [width - sum(others), *others],
        [list(header), *rows],
        9,
        ruled=sheet.pick((False, True), (True,)),
        shaded=sheet.pick((False, True), (True,)),
    )
    sheet.canvas.box(sheet.width - 248, y + 20, sheet.width - 48, y + 48, 1.4)
    sheet.put(sheet.width - 238, y + 39, sheet.pick(("Paid out",), ("Net pay", "NET SALARY")), 11, bold=True)
    sheet.put(sheet.width - 56, y + 39, money(writer.cents(900, 6_000)), 11, bold=True, align="right")
    sheet.put(48, y + 74, f"{writer.of(vocabulary.BANKS)} {writer.iban()}", 9)
    sheet.flow(48, y + 100, width, writer.filler("notice"), 8.5)
