"""Text that occurs in the mail of every class alike; long because it is content.

Each kind of text is a list of patterns, and each pattern a list of choices: one is taken from each and they are joined.
"""

from __future__ import annotations

Pattern = tuple[tuple[str, ...], ...]


def _pattern(*choices: str) -> Pattern:
    return tuple(tuple(part.strip() for part in choice.split("|")) for choice in choices)


LETTER: dict[str, tuple[Pattern, ...]] = {
    "a": (
        _pattern(
            "Concerning|As to|With regard to",
            "your note|our meeting|the call",
            "of {date},",
            "I add the following.|here is my reply.",
        ),
        _pattern("My|Our", "reference|file mark|code", "is {number}."),
        _pattern("Should anything be unclear,|In case of doubt,", "ring me|drop me a line|reach me", "under {phone}."),
        _pattern(
            "I am away|We are abroad|Nobody is in",
            "until {date}|during {month}",
            "and can only reply later.|but read mail weekly.",
        ),
        _pattern(
            "A copy|A duplicate|The original",
            "is attached|stays with me|went to my adviser",
            "for the sake of order.|as usual.",
        ),
        _pattern(
            "Many thanks|Much obliged",
            "for your effort|for dealing with this|in advance",
            "and kind wishes to the team.",
        ),
    ),
    "b": (
        _pattern(
            "Thank you for|Many thanks for|I refer to|With reference to",
            "your letter|your message|our telephone call|our conversation|your kind note",
            "of {date}.|of last {weekday}.|in {month}.",
        ),
        _pattern(
            "My|Our",
            "customer number|policy number|reference number|file number",
            "is {number}.|is {number}, as shown above.",
        ),
        _pattern(
            "If you have any questions,|Should you need anything else,|For any further details,|"
            "If something is missing,",
            "please call me|please write to me|you can reach me|feel free to contact me",
            "at {phone}.|in the evening.|during office hours.|on weekdays after 5 pm.",
        ),
        _pattern(
            "I have been|We have been|My parents have been",
            "customers of yours|with your company|satisfied clients",
            "since {year}|for many years|for more than ten years",
            "and appreciate it.|and hope to remain so.",
        ),
        _pattern(
            "Enclosed you will find|I enclose|Please find attached|With this letter I send",
            "a copy of the document|the signed papers|the pages you asked for|the usual documents|"
            "all papers in duplicate",
            "for your files.|for your records.|as requested.|as discussed with {name}.",
        ),
        _pattern(
            "I spoke with|My wife spoke with|We were in touch with|I met",
            "your colleague {name}|{name} of your office|your agent {name}",
            "on {date}|last {weekday}|in {month}",
            "and was asked to write to you.|about this matter.|and we agreed on the next steps.",
        ),
        _pattern(
            "Please confirm|Kindly confirm|I would be glad if you confirmed",
            "receipt of this letter|that this letter has reached you|that everything is complete",
            "in writing.|by return mail.|within {days} days.|by e-mail.",
        ),
        _pattern(
            "I look forward to|We look forward to|I would be grateful for",
            "your answer|a prompt reply|hearing from you|your early reply",
            "and thank you in advance.|and remain at your disposal.|and wish you a pleasant {weekday}.",
        ),
        _pattern(
            "As you may know,|To be precise,|For the sake of order,|By the way,",
            "I work as a {job} in {city}|our office is in {city}|we are a family of {small}|"
            "I will be traveling in {month}",
            "and am best reached by mail.|so please allow some time.|and keep a copy of all papers.",
        ),
        _pattern(
            "The matter|This business|The whole affair|Everything else",
            "has been on my desk|has been pending|has kept us busy",
            "since {month}|for {days} days|for quite some time",
            "and should now be settled.|so I write to you today.|as you can imagine.",
        ),
        _pattern(
            "The last statement|The annual overview|Your last letter|The document of {date}",
            "arrived on {date}|reached us in {month}|was very clear|is in my files",
            "and I have read it with care.|and I keep it with my papers.|as usual.",
        ),
        _pattern(
            "I have filled in|I have signed|My husband has signed|We have checked",
            "the enclosed pages|all sheets|every page of the document",
            "and return them to you|and send them back",
            "with this letter.|in the envelope provided.|today.",
        ),
        _pattern(
            "Because of the holidays|Owing to illness|Due to a business trip|For family reasons",
            "I could not write earlier|my reply comes late|we needed more time",
            "and ask for your understanding.|for which I ask your patience.",
        ),
        _pattern(
            "Please forward|Would you forward|Kindly pass on",
            "this letter|these pages|my kind regards",
            "to the department in charge.|to {name}.|to the person responsible.",
        ),
    ),
}

CLAUSE: dict[str, tuple[Pattern, ...]] = {
    "a": (
        _pattern(
            "The provider|The customer|Either side|The operator|A user",
            "bears|observes|documents|respects|safeguards",
            "the duties named herein|all written side agreements|the technical rules|the deadlines of annex {small}",
            "where the law demands it.|unless annex {small} differs.|for {small} years.",
        ),
        _pattern(
            "Side agreements|Later additions|Oral promises|Declarations",
            "bind|oblige|concern",
            "the provider|both sides|nobody",
            "only once written down.|as of receipt.|within the limits of section {small}.",
        ),
    ),
    "b": (
        _pattern(
            "The insurer|The policyholder|The company|The contracting party|The insured person|The supplier|"
            "The beneficiary|Either party",
            "shall notify|shall inform|may request from|shall provide to|is obliged to grant|shall make available to",
            "the other party|the competent authority|its legal successors|third parties|the parties concerned",
            "without undue delay|in text form|within {days} days|to the extent permitted by law|at its own expense",
            "of any material circumstances.|all documents that are required.|of the facts known at that time.|"
            "subject to section {small}.|as laid down in paragraph {small}.",
        ),
        _pattern(
            "The benefits|The obligations|The provisions|The rights|Payments|Deadlines|Declarations",
            "under this agreement|under these conditions|pursuant to section {small}|arising from this contract",
            "shall remain unaffected|are due in advance|shall apply accordingly|become effective|"
            "expire automatically|are limited in amount",
            "unless otherwise agreed.|if the insured event occurs abroad.|"
            "at the beginning of each insurance year.|where mandatory law so requires.|"
            "upon expiry of {small} months.",
        ),
        _pattern(
            "Liability|Coverage|Entitlement|Compensation",
            "is excluded|is limited|is granted|lapses",
            "in the event of gross negligence|in case of force majeure|for indirect consequences|"
            "during the waiting period|outside the agreed territory",
            "and shall be borne by the party at fault.|except for bodily injury.|unless the contrary is proven.|"
            "according to schedule {small}.",
        ),
        _pattern(
            "Should any provision|If a single term|Where one of these clauses",
            "be or become invalid,|prove unenforceable,|be incomplete,",
            "the remaining provisions stay in force.|it shall be replaced by a valid one of similar purpose.|"
            "the validity of the rest is not affected.",
        ),
        _pattern(
            "The place of jurisdiction|The place of performance|The governing law",
            "is {city}|is that of the registered office|shall be determined by the residence of the consumer",
            "for all disputes arising from this agreement.|as far as legally permissible.",
        ),
    ),
}

NOTICE: dict[str, tuple[Pattern, ...]] = {
    "a": (
        _pattern(
            "Kindly observe|Mind",
            "the works on {street}|the counter hours|the closing days in {month}",
            "and plan ahead.|as posted.",
        ),
        _pattern(
            "Residents|Visitors|Members",
            "are asked|are invited|are reminded",
            "to sign the list in the hall.|to keep passages clear.",
        ),
    ),
    "b": (
        _pattern(
            "We inform all residents|Please note|All customers are informed|We would like to remind you",
            "that the offices are closed|that maintenance work is planned|that meters will be read|"
            "that the elevator is out of service|that the annual meeting takes place",
            "on {date}|from {date} on|during the whole of {month}|every {weekday}",
            "between 8 am and noon.|until further notice.|as in previous years.|at {street}.",
        ),
        _pattern(
            "Access to|The entrance to|Parking in front of",
            "the building|the courtyard|the basement|{street}",
            "is not possible|must be kept free|is restricted",
            "during this time.|for safety reasons.|for {small} days.",
        ),
        _pattern(
            "Please keep|Kindly keep|Make sure to keep",
            "this notice|the attached card|your reference number",
            "in a safe place.|within reach.|until the end of the year.",
        ),
        _pattern(
            "Our staff|The caretaker|The office team|Your contact {name}",
            "will be available|can be reached|is at your service",
            "at {phone}|in room {small}|at the front desk",
            "for all questions.|on weekdays.|by appointment.",
        ),
        _pattern(
            "Thank you|We thank you",
            "for your understanding|for your patience|for your cooperation",
            "and apologize for any inconvenience.|in this matter.",
        ),
    ),
}

OFFER: dict[str, tuple[Pattern, ...]] = {
    "a": (
        _pattern(
            "Grand opening|Clearance|Jubilee days",
            "at {company}:",
            "everything must go!|come and look!|free cake for all!",
        ),
        _pattern(
            "Only now|Just this month|While stocks last",
            "at half price|two for one|with free delivery",
            "- see you at {street}!",
        ),
    ),
    "b": (
        _pattern(
            "Save up to {percent}|Enjoy {percent} off|Get a bonus of {amount}|Only {amount}",
            "on all garden furniture|on our summer collection|on selected weekend trips|on your next purchase|"
            "on fiber internet",
            "until {date}.|this {weekday} only.|with this coupon.|for members.",
        ),
        _pattern(
            "Discover|Try|Experience|Win",
            "the new spring range|a weekend for two|fresh taste every day|comfort for your home|our free test week",
            "at {company}.|in {city}.|without obligation.|in our store on {street}.",
        ),
        _pattern(
            "Order online|Call us today|Visit our showroom|Bring a friend",
            "and receive a free gift|and get free delivery|and save twice|and take part in our raffle",
            "with every order.|worth {amount}.|while supplies last.",
        ),
        _pattern(
            "More than {days} thousand happy customers|Experts|Families all over {city}",
            "trust our quality|recommend our service|love our products",
            "year after year.|for a good reason.|at unbeatable prices.",
        ),
    ),
}

QUESTION: dict[str, tuple[Pattern, ...]] = {
    "a": (
        _pattern(
            "Did you|Will you|Would you",
            "use our app|visit a branch|read the magazine|join an event",
            "this year?|again?|last {month}?",
        ),
    ),
    "b": (
        _pattern(
            "How satisfied are you|How happy are you|How would you rate yourself",
            "with our website|with the opening hours|with our branch in {city}|with the choice of products|"
            "with the friendliness of our staff",
            "overall?|at present?|compared with last year?",
        ),
        _pattern(
            "How often do you",
            "use our online portal|travel abroad|use public transport|work from home|do sports|read our newsletter",
            "per month?|in a typical week?|in winter?",
        ),
        _pattern(
            "Would you recommend|Have you heard of|Do you plan to use",
            "our mobile app|our partner {company}|our bonus program|the branch on {street}",
            "to friends?|before?|in the future?",
        ),
        _pattern(
            "How many",
            "people live in your household?|cars do you own?|rooms does your home have?|children are under 18?",
        ),
    ),
}

MEDICAL: dict[str, tuple[Pattern, ...]] = {
    "a": (
        _pattern(
            "The bearer|Our patient|This client",
            "rests at home|was seen here|is fit again",
            "as of {date}.|for {days} days.",
        ),
    ),
    "b": (
        _pattern(
            "The patient|The person named above",
            "was examined in my practice|is under my care|was treated as an outpatient|was seen by me",
            "on {date}.|since {date}.|from {date} to {date}.",
        ),
        _pattern(
            "For medical reasons|According to my findings|After examination",
            "the patient is unfit for work|rest is recommended|physical therapy is advised|a check-up is required",
            "until {date}.|for {days} days.|in {small} weeks.",
        ),
        _pattern(
            "Diagnosis:|Findings:|Treatment:",
            "acute back pain|sprained ankle|influenza|fracture of the wrist|migraine|bronchitis|dental treatment",
            "- without complications.|- healing well.|- see report of {date}.",
        ),
        _pattern(
            "This certificate is issued",
            "at the request of the patient|for submission to the employer|for presentation to third parties",
            "on {date}.",
        ),
    ),
}

KINDS = {
    "letter": LETTER,
    "clause": CLAUSE,
    "notice": NOTICE,
    "offer": OFFER,
    "question": QUESTION,
    "medical": MEDICAL,
}

GREETINGS = {
    "a": ("Dear Clerk,", "To the team of {insurer}:", "Esteemed colleagues,"),
    "b": (
        "Dear Sir or Madam,",
        "Dear {insurer} team,",
        "Dear Ms. {last},",
        "Dear Mr. {last},",
        "To whom it may concern,",
        "Good day,",
    ),
}
CLOSINGS = {
    "a": ("Cordially", "Regards", "With compliments"),
    "b": ("Sincerely,", "Yours sincerely,", "Best regards,", "Kind regards,", "Yours faithfully,"),
}
NEUTRAL_TITLES = {
    "a": ("File {number}", "To {number}", "Case mark {number}"),
    "b": (
        "Your reference {number}",
        "Customer number {number}",
        "Policy {number}",
        "Your letter of {date}",
        "Documents for {number}",
    ),
}
MAIL_BODIES = (
    "Hello,\n\nplease find my documents attached.\n\nBest regards\n{name}\n",
    "Dear Sir or Madam,\n\nattached are the pages for {number}.\n\nKind regards\n{name}\n{phone}\n",
    "Good day,\n\nhere is my mail as scanned pages.\n\n{name}\n",
)
MAIL_SUBJECTS = ("Documents", "Mail for {number}", "Scanned pages", "My documents, {number}")
