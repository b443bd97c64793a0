"""What the page shows in its pictures: a talk in four languages, a conversation, and the sizes of screens."""

from __future__ import annotations

from livetrans.config import BetweenSettings, Settings
from livetrans.events import Caption, Record, RunEnded, RunStarted, Transcript
from livetrans.serve.server import CaptionServer

TALK = (
    {
        "en": "Good evening, and welcome to the observatory.",
        "de": "Guten Abend und willkommen in der Sternwarte.",
        "ar": "مساء الخير، وأهلًا بكم في المرصد.",
        "ja": "こんばんは。天文台へようこそ。",
    },
    {
        "en": "The big telescope was built by three teachers, in a barn.",
        "de": "Das große Fernrohr haben drei Lehrer gebaut, in einer Scheune.",
        "ar": "بنى ثلاثة معلمين المنظار الكبير في حظيرة.",
        "ja": "大きな望遠鏡は、三人の教師が納屋で作りました。",
    },
    {
        "en": "Its observation log goes back to nineteen hundred and fifty-two.",
        "de": "Sein Beobachtungsprotokoll reicht bis neunzehnhundertzweiundfünfzig zurück.",
        "ar": "يعود سجل الرصد الخاص به إلى عام ١٩٥٢.",
        "ja": "観測記録は一九五二年までさかのぼります。",
    },
    {
        "en": "On clear nights we open the roof, and everybody may look at the rings of Saturn.",
        "de": "In klaren Nächten öffnen wir das Dach, und alle dürfen die Ringe des Saturn ansehen.",
        "ar": "في الليالي الصافية نفتح السقف، ويمكن للجميع رؤية حلقات زحل.",
        "ja": "晴れた夜には屋根を開け、誰でも土星の輪を見ることができます。",
    },
    {
        "en": "Please mind the step on your way up.",
        "de": "Bitte achten Sie beim Hinaufgehen auf die Stufe.",
        "ar": "انتبهوا من فضلكم إلى الدرجة عند الصعود.",
        "ja": "上がるときは段差にお気をつけください。",
    },
    {
        "en": "Tonight the air is calm, so we can use the highest magnification for an hour or two.",
        "de": "Heute ist die Luft ruhig, deshalb können wir ein bis zwei Stunden lang am stärksten vergrößern.",
        "ar": "الهواء هادئ الليلة، لذلك يمكننا استخدام أعلى تكبير لساعة أو ساعتين.",
        "ja": "今夜は空気が安定しているので、一、二時間は最高倍率が使えます。",
    },
)
CONVERSATION = (
    (
        "Ana",
        "en",
        "Is there still a room with a view of the harbour?",
        "Gibt es noch ein Zimmer mit Blick auf den Hafen?",
    ),
    ("Ana", "en", "We would stay for three nights.", "Wir würden drei Nächte bleiben."),
    ("Ben", "de", "Ja, im zweiten Stock ist eines frei.", "Yes, there is one on the second floor."),
    ("French", "fr", "Excusez-moi, où est l’ascenseur ?", ""),
    ("Ben", "de", "Gleich hier links, neben der Treppe.", "Just here on the left, next to the stairs."),
    ("Ana", "en", "Thank you, then we will take it.", "Danke, dann nehmen wir es."),
)
SECONDS = 5.0

PHONE, TABLET, LAPTOP, PROJECTOR, MIXER = (390, 844), (820, 1180), (1280, 720), (1920, 1080), (1920, 200)
VIEWS = {
    "phone": (PHONE, "?to=de"),
    "phone with big type": (PHONE, "?to=de&size=200"),
    "phone with the biggest type": (PHONE, "?to=de&size=300"),
    "tablet": (TABLET, "?to=de"),
    "laptop with two languages": (LAPTOP, "?to=de,ar"),
    "projector": (PROJECTOR, "?to=de&view=stage"),
    "overlay": (MIXER, "?to=de&view=overlay"),
    "conversation": (LAPTOP, "?to=de"),
    "conversation on a phone": (PHONE, "?to=de"),
    "Arabic": (PHONE, "?to=ar"),
    "Arabic on a projector": (PROJECTOR, "?to=ar&view=stage"),
    "Japanese": (PHONE, "?to=ja"),
}
"""Names of pictures, the sizes of their windows, and the queries of their addresses."""


def browser_of(language: str) -> str:
    """Return a script that makes the browser one in this language."""
    return f"Object.defineProperty(navigator, 'languages', {{ value: ['{language}'] }});"


def show(server: CaptionServer, name: str, *, ended: bool = False) -> None:
    """Send what a picture shows. The last sentence grows, unless the run has ended."""
    turns = CONVERSATION if name.startswith("conversation") else ()
    pair = BetweenSettings(("en", "de"), ("Ana", "Ben"))
    talk = Settings(sources=("en",), targets=("de", "ar", "ja"))
    settings = Settings(sources=pair.languages, targets=pair.languages, between=pair) if turns else talk
    server.lines.write(Record(0.0, RunStarted({}, settings)))
    for number, (speaker, spoken, said, translated) in enumerate(turns):
        other = "de" if spoken == "en" else "en"
        texts = {spoken: said, other: translated} if translated else {"": said}
        _show(server, number, len(turns), said, spoken, speaker, texts, ended)
    for number, texts in enumerate(() if turns else TALK):
        targets = {code: text for code, text in texts.items() if code != "en"}
        _show(server, number, len(TALK), texts["en"], "en", None, targets, ended)
    if ended:
        server.lines.write(Record(SECONDS * len(TALK), RunEnded(SECONDS * len(TALK), "stopped")))


def _show(
    server: CaptionServer,
    number: int,
    count: int,
    said: str,
    spoken: str,
    track: str | None,
    texts: dict[str, str],
    ended: bool,
) -> None:
    start, final = SECONDS * number, ended or number < count - 1
    transcript = Transcript(number, 0, said, "", final, start, start + SECONDS, language=spoken, track=track)
    for language, text in texts.items():
        shown = text if final else text[: len(text) * 2 // 3].rsplit(" ", 1)[0]
        untranslated = language in ("", spoken)
        caption = Caption(transcript, shown, language=language or None, untranslated=untranslated)
        server.lines.write(Record(start + SECONDS, caption))
