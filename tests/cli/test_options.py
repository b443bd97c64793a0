"""The shared options: precedence, bad values, and the settings they make."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import click
import pytest

import livetrans
from livetrans import config
from livetrans.base.errors import ModelError, UsageError
from livetrans.cli import bench_run, cli, options, run
from livetrans.cli.options import run_command, run_option
from livetrans.cli.running import Ended, OpenSource
from livetrans.config import CALM, PAPER, SETTINGS, PromptSettings, Setting, Settings, Term
from livetrans.decoding import DECODERS
from livetrans.events import Notice
from livetrans.models import find
from livetrans.models.chosen import choose_models
from livetrans.run import effect


class Seen:
    """What the command was called with."""

    settings: Settings
    speed: str


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Seen:
    """`livetrans replay FILE` that only notes its options; no configuration file of the user's own."""
    seen = Seen()

    @run_command("replay")
    @click.argument("file")
    @run_option("--speed", default="1")
    def command(settings: Settings, file: str, speed: str) -> None:
        seen.settings, seen.speed = settings, speed

    mic = cli.get_command(click.Context(cli), "mic")
    monkeypatch.setattr("livetrans.cli.cli.get_command", lambda context, name: mic if name == "mic" else command)
    monkeypatch.setattr(options, "default_config_file", lambda: tmp_path / "config.toml")
    for variable in (config.RECOGNISER_VARIABLE, config.TRANSLATOR_VARIABLE, find.MODELS_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    return seen


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of models by name only: an own pair, an own recogniser, and one of each that knows any language."""
    folder = tmp_path / "models"
    for name in ("livetrans-recogniser-en", "whisper-small"):
        (folder / name).mkdir(parents=True)
        (folder / name / "model.bin").touch()
    for name in ("livetrans-en-de.q8_0.gguf", "tower.gguf"):
        (folder / name).write_bytes(b"GGUF")
    monkeypatch.setattr(find, "search_folders", lambda: {folder: "test"})
    return folder


def parsed(seen: Seen, *arguments: str) -> Settings:
    assert run(["replay", "demo.flac", *arguments]) == 0
    return seen.settings


def test_defaults_are_those_of_the_settings(seen: Seen, models: Path) -> None:
    settings = parsed(seen)
    assert settings == Settings()
    settings = choose_models(settings)
    assert settings.language_model.model.name == "tower.gguf"
    assert settings.recogniser is not None and settings.recogniser.model.name == "whisper-small"


OF_KINDS = {
    "language": "fr",
    "language or none": "none",
    "languages": "zh-tw",
    "languages or auto": "French,auto",
    "jsonl": "-",
    "link": "French=@link.txt",
    "room": "https://hub.example/pub/room",
    "names": "I,you",
    "pair": "fr,German",
    "server": "http://127.0.0.1:9",
}
NEEDED = {
    "gamma": "--draft-model tower",
    "mt-back": "--between en,de",
    "captions-delay": "--captions-to @link.txt",
    "serve-downloads": "--serve localhost",
}
NEEDED |= dict.fromkeys(("mt-model", "mt-key-file"), "--mt-server http://127.0.0.1:9")
NEEDED |= dict.fromkeys(("names", "me", "me-to", "device"), "--with-mic")


def test_a_conversation_has_a_translator_for_each_direction_one_for_both_if_there_is(seen: Seen, models: Path) -> None:
    settings = choose_models(parsed(seen, "--between", "en,de", "--names", "Ana,Ben"))
    there, back = settings.directions
    assert (there.language_model.model.name, back.language_model.model.name) == ("tower.gguf", "tower.gguf")
    assert settings.recogniser and settings.recogniser.language is None
    assert settings.recogniser.other_languages == settings.sources == ("en", "de")
    assert settings.speakers == ("Ben", "Ana") and settings.meeting is None
    (models / "tower.gguf").unlink()
    with pytest.raises(
        ModelError, match=r"^no installed translator covers both en to de and de to en.*--between en,de"
    ):
        choose_models(parsed(seen, "--between", "en,de"))
    shutil.rmtree(models / "whisper-small")
    with pytest.raises(ModelError) as missing:
        choose_models(parsed(seen, "--between", "en,de"))
    for words in ("no installed recogniser understands en and de, and no installed translator", "pull --between"):
        assert words in str(missing.value)
    (models / "whisper-small").mkdir()
    (models / "whisper-small" / "model.bin").touch()
    (models / "livetrans-de-en.q8_0.gguf").write_bytes(b"GGUF")
    for pair in ("en,de", "de,en"):
        ways = choose_models(parsed(seen, "--between", pair)).directions
        names = [way.language_model.model.name.partition(".")[0] for way in ways]
        assert names == [f"livetrans-{way.source_language}-{way.target_language}" for way in ways]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--between en", "two languages"),
        ("--between en,en-GB", "two languages"),
        ("--between pt-BR,pt-PT", "tells apart"),
        ("--between en,eo", "tells apart"),
        ("--between en,de --to fr", "--to has no effect with --between"),
        ("--names Ana,Ben", "add --between"),
        ("--mt-back tower", "add --between LANGUAGES"),
    ],
)
def test_a_conversation_without_sense_is_refused(
    options: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["mic", *options.split()]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_option_reaches_its_setting(seen: Seen, setting: Setting, tmp_path: Path) -> None:
    option, kind = options.OPTIONS[setting.key], setting.option.kind
    flag, text = option.opts[-1], OF_KINDS.get(kind, "7")
    if isinstance(option.type, click.Choice):
        text = list(option.type.choices)[-1]
    elif kind == "glossary":
        (tmp_path / "terms.tsv").write_text("bridge\tSteg\n", encoding="utf-8")
        text = str(tmp_path / "terms.tsv")
    elif setting.option.span:
        text = str(setting.option.span[1] or 9)
    found: list[Settings] = []

    @run_command([*setting.option.commands, "replay"][0])
    @run_option("--with-mic", is_flag=True)
    def command(settings: Settings, with_mic: bool) -> None:
        found.append(settings)

    command.main(
        [*NEEDED.get(setting.key, "").split(), flag, *([] if option.is_flag else [text])], standalone_mode=False
    )
    if setting.key == "method":
        assert found[0].decoding == PAPER.decoding
    elif not option.is_flag:
        value = option.type.convert(text, option, None)
        assert setting.of(found[0]) == ((value,) if option.multiple else value)
    else:
        assert setting.of(found[0]) is (setting.default is not True)


@pytest.mark.parametrize("to", ["fr", "de,fr"])
def test_languages_that_the_small_translator_does_not_know_go_to_another(seen: Seen, models: Path, to: str) -> None:
    assert choose_models(parsed(seen, "--to", to)).language_model.model.name == "tower.gguf"
    (models / "tower.gguf").unlink()
    with pytest.raises(ModelError, match=" and ".join(f"en to {code}" for code in to.split(","))):
        choose_models(parsed(seen, "--to", to))
    # Who speaks English is shown as heard.
    assert choose_models(parsed(seen, "--to", "de,en")).language_model.model.name.startswith("livetrans-en-de")


def test_auto_leaves_the_language_to_a_recogniser_that_can_tell(seen: Seen, models: Path) -> None:
    settings = choose_models(parsed(seen, "--from", "auto", "--asr", "whisper-small"))
    assert settings.source_language == "auto"
    assert settings.recogniser is not None and settings.recogniser.language is None


def test_a_recorded_stream_needs_no_recogniser(seen: Seen, models: Path) -> None:
    assert choose_models(replace(parsed(seen, "--from", "eo", "--mt", "tower"), recogniser=None)).recogniser is None
    with pytest.raises(UsageError, match="Esperanto"):
        choose_models(parsed(seen, "--from", "eo", "--mt", "tower"))


def test_option_beats_environment_beats_file(seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text('mt = "file"\nmask-k = 7\nbias = 1\ndevice = 3\n')
    settings = parsed(seen)
    assert (settings.language_model.model, settings.mask.k, settings.decoding.bias) == (Path("file"), 7, 1.0)
    monkeypatch.setenv(config.TRANSLATOR_VARIABLE, "environment")
    assert parsed(seen).language_model.model == Path("environment")
    settings = parsed(seen, "--mt", "option", "--mask-k", "1")
    assert (settings.language_model.model, settings.mask.k) == (Path("option"), 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("mask-q = 1", ["mask-q", "did you mean mask"]),
        ('bias = "high"', ["bias", "not a valid number"]),
        ("bias = 3", ["bias", "0<=x<=1"]),
        ("[expert]\nbias = 3", ["bias", "0<=x<=1"]),
        ("bias = true", ["bias", "a value, not true"]),
        ("plain = 1", ["plain", "true or false"]),
        ("mask-k = 1.5", ["mask-k", "a valid whole number"]),
        ("gamma = 0", ["gamma", "1<=x<=16"]),
        ('method = "magic"', ["method", "ssbd"]),
        ("to = ['de', 'fr']", ["to", "a text in quotes or a number"]),
        ('serve = "example.org"', ["serve", "example.org"]),
        ("speed = 1", ["speed cannot be set in a file", "--speed"]),
        ('name = "standup"', ["name cannot be set in a file", "--name"]),
        ('session = "talk"', ["session cannot be set in a file", "--session"]),
        ('jsonl = "x.txt"', ["jsonl cannot be set in a file", "--jsonl"]),
        ("[replay]\nstep = 3", ["the only table is [expert]", "[replay]"]),
        ("bias = 0\n[expert]\nbias = 0", ["bias is there twice"]),
        ("expert = 1", ["expert is a table"]),
        ('tp = "de"', ["tp", "did you mean to?"]),
        ("bias = ", ["TOML"]),
        ("config = 'x'", ["config cannot be set in a file"]),
        ("yes = true", ["yes cannot be set in a file", "--yes"]),
        (None, ["cannot be read", "name another with --config"]),
    ],
)
def test_a_bad_file_is_named_with_its_key(
    seen: Seen, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, words: list[str]
) -> None:
    file = tmp_path / "mine.toml"
    if content is not None:
        file.write_text(content)
    assert run(["replay", "demo.flac", "--config", str(file)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert all(word in message for word in [str(file), *words])


OUT_OF_RANGE = (
    "--bias 2,--bias nan,--mask-k -1,--vad 4,--method x,--mask x,--prompt x,--threads x,--pause 0,--pause nan,"
    "--pause inf,--step inf,--threads 99999,--context 99999999999"
)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        *((line, line.split()[0]) for line in OUT_OF_RANGE.split(",")),
        ("--gamma 3", "--gamma has no effect without --draft-model"),
        ("--no-session --keep-audio", "--keep-audio has no effect where no session is recorded"),
        ("--no-session --session folder", "--session has no effect where no session is recorded"),
        ("--from en --to English", "--from and --to are both"),
        ("--from de,auto --to de", "--from and --to are both"),
        ("--from en --to en-GB", "--from and --to are both"),
        ("--method rt --bias 0.5", "--bias has no effect with --method rt"),
        ("--method ssbd --live-window 9", "--live-window has no effect with --method ssbd"),
        ("--method paper --live-window 9", "--live-window has no effect with --method paper"),
        ("--method paper --calm still", "--calm still has no effect with --method paper"),
        ("--method ssbd --final careful", "--final careful has no effect with --method ssbd"),
        ("--method cd --final fresh", "--final fresh has no effect with --method cd"),
        ("--mask none --mask-k 100", "--mask-k has no effect with --mask none"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    seen: Seen, line: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", "demo.flac", *line.split()]) == 2
    printed = capsys.readouterr().err
    assert word in printed and printed.count("\n") == 1


def test_a_file_may_hold_what_only_some_runs_use(seen: Seen, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("bias = 0.5\nlive-window = 9\nmask-k = 100\ngamma = 3\n[expert]\nstep = 2\n")
    for line in ("--method rt", "--method ssbd", "--method paper", "--mask none"):
        assert parsed(seen, *line.split()).draft_model is None
    assert parsed(seen, "--draft-model", "livetrans-en-de").draft_model is not None
    (tmp_path / "config.toml").write_text('draft-model = "small"\n')
    assert parsed(seen, "--method", "rt").draft_model is None
    assert parsed(seen, "--method", "spec").draft_model is not None
    assert parsed(seen, "--method", "rt", "--draft-model", "small").draft_model is not None, "which is then refused"


@pytest.mark.parametrize(("line", "expected"), [("--jsonl", "-"), ("--jsonl=-", "-"), ("--jsonl a.jsonl", "a.jsonl")])
def test_jsonl_takes_a_file_or_nothing(seen: Seen, line: str, expected: str) -> None:
    assert parsed(seen, *line.split()).output.jsonl == expected


def test_jsonl_never_takes_the_recording_for_its_file(seen: Seen, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "--jsonl", "demo.flac"]) == 2
    assert "write --jsonl demo.jsonl" in capsys.readouterr().err
    assert run(["replay", "--jsonl", "recordings/demo.flac"]) == 2
    assert "--jsonl took 'recordings/demo.flac'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["mic", "listen", "replay"])
def test_the_help_is_a_screen_and_the_help_of_all_lists_every_option(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([command, "--help"]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 40 and max(map(len, short.splitlines())) <= 80
    assert run([command, "--help-all"]) == 0
    everything = capsys.readouterr().out
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    for option in found.params:
        if isinstance(option, click.Option):
            assert option.help and option.help.endswith(".")
            assert f"  {option.opts[0]}" in everything
    assert "--mask-k" not in short and "--help-all" in short
    for heading in ("Options:", "Languages:", "Models:", "Translation:", "Listening:", "Output:"):
        assert heading in everything


def test_every_decoder_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "--help-all"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert all(f"{row.name} translates {row.summary}" in printed for row in DECODERS.values())


def test_every_option_that_the_program_names_exists() -> None:
    def options_of(command: click.Command) -> Iterator[str]:
        for parameter in command.params:
            yield from (*parameter.opts, *parameter.secondary_opts)
        if isinstance(command, click.Group):
            context = click.Context(command)
            found = [command.get_command(context, name) for name in command.list_commands(context)]
            yield from chain.from_iterable(options_of(one) for one in found if one)

    known = {*options_of(cli), "--help", "--no-", *"--force-reinstall --no-deps --no-cache-dir --no-binary".split()}
    for path in Path(livetrans.__file__).parent.rglob("*.py"):
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", path.read_text(encoding="utf-8")))
        assert path.name == "pulse.py" or not named - known, f"{path} names {named - known}"


def test_a_calm_setting_is_a_point_and_single_options_move_it(seen: Seen, tmp_path: Path) -> None:
    for name, preset in CALM.items():
        settings = parsed(seen, "--calm", name)
        assert (settings.decoding, settings.mask) == (preset.decoding, preset.mask)
    moved = parsed(seen, "--calm", "faithful", "--bias", "0.3", "--mask-k", "1")
    assert moved.decoding == replace(CALM["faithful"].decoding, bias=0.3)
    assert moved.mask == replace(CALM["faithful"].mask, k=1)
    (tmp_path / "config.toml").write_text('calm = "still"\nlive-window = 9\n')
    assert parsed(seen).decoding == replace(CALM["still"].decoding, window=9)
    assert parsed(seen, "--calm", "faithful", "--live-window", "2").decoding == replace(
        CALM["faithful"].decoding, window=2
    )


def test_the_paper_is_a_method_with_its_settings(seen: Seen) -> None:
    settings = parsed(seen, "--method", "paper")
    assert (settings.decoding, settings.mask) == (PAPER.decoding, PAPER.mask)
    assert parsed(seen, "--method", "paper", "--bias", "0").decoding == replace(PAPER.decoding, bias=0.0)


def test_sentences_before_get_room_in_the_default_context(seen: Seen) -> None:
    assert parsed(seen, "--history", "2").language_model.context_tokens == 512 + 2 * 96
    assert parsed(seen, "--history", "2", "--context", "600").language_model.context_tokens == 600


def test_a_glossary_is_for_translator_and_recogniser(seen: Seen, tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text("bridge\tSteg\n", encoding="utf-8")
    settings = choose_models(parsed(seen, "--glossary", str(file), "--history", "3"))
    assert settings.prompt == PromptSettings(3, file, glossary=(Term("bridge", "Steg"),))
    assert settings.recogniser is not None
    assert settings.recogniser.hot_words == ("bridge",)
    assert run(["replay", "demo.flac", "--glossary", str(tmp_path / "none")]) == 2


def test_several_languages_are_what_the_keys_switch_between(seen: Seen, models: Path) -> None:
    settings = choose_models(
        parsed(seen, *"--from fr,auto,English --to de,zh-TW,German --asr whisper-small --mt tower".split())
    )
    assert (settings.source_language, settings.sources) == ("fr", ("fr", "auto", "en"))
    assert (settings.target_language, settings.targets) == ("de", ("de", "zh-Hant"))
    assert settings.recogniser is not None
    assert (settings.recogniser.language, settings.recogniser.other_languages) == ("fr", ("en",))
    assert run(["replay", "demo.flac", "--to", "de,,fr"]) == 2
    with pytest.raises(UsageError, match="no recogniser knows Irish"):
        choose_models(parsed(seen, *"--from en,ga --asr whisper-small".split()))


@pytest.mark.parametrize("by_file", [False, True])
def test_mic_takes_several_languages(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_file: bool
) -> None:
    """Through the real offer of models: from the command line and from the file."""
    runs: list[Settings] = []
    monkeypatch.setattr("livetrans.audio.live.Microphone", lambda *_: open(os.devnull))

    def note(source: OpenSource) -> Ended:
        runs.append(source.settings)
        return Ended(None, False, False)

    monkeypatch.setattr("livetrans.cli.running.run_live", note)
    file = tmp_path / "mine.toml"
    file.write_text('from = "en,fr,auto"\nto = "de,ar"\n' if by_file else "")
    languages = [] if by_file else "--from en,fr,auto --to de,ar".split()
    assert run(["mic", "--config", str(file), *languages]) == 0
    assert (runs[0].sources, runs[0].targets) == (("en", "fr", "auto"), ("de", "ar"))
    assert runs[0].recogniser is not None and runs[0].recogniser.model.name == "whisper-small"


def test_a_recogniser_of_our_own_detects_nothing(seen: Seen, models: Path) -> None:
    notices: list[Notice] = []
    settings = parsed(seen, *"--from auto --asr livetrans-recogniser-en --mt tower".split())
    settings = choose_models(settings, notices.append)
    assert settings.sources == ("en",)
    assert [notice.text for notice in notices] == ["livetrans-recogniser-en understands only English; using --from en."]


def test_every_name_in_the_table_of_effects_is_an_option_or_a_stage() -> None:
    stages = {f"{setting.field.partition('.')[0]}." for setting in SETTINGS.values() if "." in setting.field}
    own = set()
    for name in ("mic", "listen", "replay"):
        command = cli.get_command(click.Context(cli), name)
        own |= {option.opts[-1][2:] for option in command.params if isinstance(option, options.RunOption)}
    own |= {option.opts[-1][2:] for option in bench_run.run_command.params}
    named = set(chain.from_iterable(mode.idle.split() for mode in effect.MODES))
    assert named <= stages | {*SETTINGS} | own


RECORDING = str(Path(__file__).parents[2] / "recordings" / "demo")
COMPARED = (
    "--glossary names.tsv,--repair none,--no-session,--theme light,--panel off,--source-line below,--no-speedup,"
    "--partials,--serve,-o x.srt,--mt-back x,--bias 0.5,--method cd,--calm still,--mask output,--history 2,"
    "--caption-file new.txt"
)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        *(
            (f"replay {{}}.flac --compare rt,cd {given}", f": {given.split()[0]}.* has no effect with --compare")
            for given in COMPARED.split(",")
        ),
        ("replay {}.flac --offline --serve", "--serve is for captions at the pace of speech"),
        ("replay {}.flac --speed max --theme ansi", "--theme ansi is for captions at the pace of speech"),
        ("replay {}.flac --compare rt,cd --speed real", "--speed real has no effect"),
        ("replay {}.flac --force", "--force has no effect without -o; drop it or add -o FILE"),
        ("replay {}.jsonl --start 0:10", "--start is for recordings of sound"),
        ("replay {}.flac {}.jsonl --offline --compare rt,cd", "--compare is for one file"),
        ("replay {}.flac {}.jsonl --offline --jsonl x.jsonl", "--jsonl is for one file"),
        (
            "bench run --context 512 --mt-server a",
            "--context is for a translator on this machine; drop it or leave out",
        ),
        ("bench run --threads 2 --mt-server a", "--threads is for a translator on this machine"),
        ("bench run --mt x --mt-server a", "--mt is for a translator on this machine"),
        ("bench run --draft-model x --mt-server a", "--draft-model is for a translator on this machine"),
        ("bench run --double-model x --mt-server a", "--double-model is for a translator on this machine"),
        ("bench run --temperature 0.5 --mt-server a", "--temperature is for a translator on this machine"),
        ("bench run --seed 1 --mt-server a", "--seed is for a translator on this machine"),
        ("bench run --time cpu --mt-server a", "--time cpu counts the processor of this machine"),
        ("bench run --mt-model x", "--mt-model has no effect without --mt-server"),
        ("bench run --mt-key-file x", "--mt-key-file has no effect without --mt-server"),
        ("models --mt-key-file x", "--mt-key-file has no effect without --mt-server"),
        ("mic --threads 2 --mt-server a", "--threads is for a translator on this machine"),
        ("mic --plain --theme light", "--theme light has no effect on lines"),
        ("mic --jsonl --partials", "--partials has no effect on lines of JSON"),
        ("mic --no-session --keep-sessions 3", "--keep-sessions has no effect where no session is recorded"),
        ("listen --device 3", "--device has no effect without --with-mic"),
    ],
)
def test_what_has_no_effect_in_a_run_is_said_before_it(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("names.tsv").write_text("Ana\n")
    assert run(line.replace("{}", RECORDING).split()) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and re.search(words, printed.err) and printed.err.count("\n") == 1


def test_a_flag_of_the_file_is_turned_off_for_a_run(seen: Seen, tmp_path: Path) -> None:
    flags = {"keep-audio": "", "plain": "", "partials": "", "no-speedup": "", "no-session": "", "no-early-stop": ""}
    (tmp_path / "config.toml").write_text("serve = true\n" + "".join(f"{key} = true\n" for key in flags))
    output = parsed(seen).output
    assert output.serve == "localhost"
    assert (output.keep_audio, output.plain, output.partials, output.speedup, output.record_session) == (
        True, True, True, False, False,
    )  # fmt: skip
    off = "--serve off --no-keep-audio --no-plain --no-partials --speedup --record-session --early-stop"
    assert parsed(seen, *off.split()) == Settings()
