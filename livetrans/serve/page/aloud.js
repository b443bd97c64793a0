/* Finished captions read aloud by a voice of the reader's device.

   One caption is read at a time and a few wait. When there are more, the oldest is left out, so that the voice stays
   close to the speaker. The browser's own queue, pause and resume are not used: browsers differ too much in them. */

import { nameOf, word } from "./words.js";

const MOST_WAITING = 2;
const HASTE = 0.125; /* Growth of the rate for each caption that waits: up to 1.25. */
const REST = 250; /* Milliseconds between two captions. Browsers may lose what they get directly after `cancel`. */
const PATIENCE = 5_000, PATIENCE_PER_CHARACTER = 300;
/* Milliseconds after which a voice counts as failed: some never say that they have ended. */
const ODD = /^(Albert|Bad News|Bahh|Bells|Boing|Bubbles|Cellos|Good News|Jester|Organ|Superstar|Trinoids|Whisper|Wobble|Zarvox)\b/;
/* Apple's joke voices. Albert is the first English one of a Mac. */
const CODES = { nb: "no", fil: "tl", jv: "jw", iw: "he", in: "id", cmn: "zh", "zh-hk": "yue" };
/* The run's codes of languages for which voices have others. */

export class Aloud {
  language = ""; /* The reader's; empty if nothing is to be read. */
  isSilent = false;
  waiting = [];
  isReading = false;
  isUnlocked = false;
  interrupt = () => {};
  onLeftOut = () => {}; /* Called with the key of each line that is left out or cut off. */

  adjust(language, isSilent) {
    const isOver = isSilent || language !== this.language;
    Object.assign(this, { language, isSilent });
    if (isOver) {
      this.keep(0);
      this.interrupt();
    }
    /* Safari reads nothing unless it has been asked to in a gesture. */
    if (!language || this.isUnlocked || !navigator.userActivation?.isActive) return;
    this.isUnlocked = true;
    window.speechSynthesis?.speak(new SpeechSynthesisUtterance(""));
  }

  /* Why nothing is read, in the reader's words; empty if captions are. */
  get fault() {
    if (!window.speechSynthesis) return word("cannot");
    if (navigator.userActivation?.hasBeenActive === false) return word("tap");
    const voices = voicesFor(this.language);
    if (!this.language || voices.some((voice) => voice.localService)) return "";
    return word(voices.length ? "online" : "voiceless", nameOf(this.language));
  }

  /* Take a finished line: it is read, or left out. Return false if none are read. */
  take(key, text) {
    if (this.fault) return false;
    this.waiting.push({ key, text });
    this.keep(this.isSilent ? 0 : MOST_WAITING + !this.isReading);
    if (!this.isReading) this.readAll();
    return true;
  }

  keep(most) {
    while (this.waiting.length > most) this.onLeftOut(this.waiting.shift().key);
  }

  async readAll() {
    this.isReading = true;
    for (let late = 0; this.waiting.length; late = this.waiting.length) {
      const { key, text } = this.waiting.shift();
      if (!await this.read(text, 1 + HASTE * late)) {
        this.onLeftOut(key);
        speechSynthesis.cancel();
      }
      await new Promise((done) => setTimeout(done, REST));
    }
    this.isReading = false;
  }

  /* Return whether the text was read to its end. */
  read(text, rate) {
    const voice = voicesFor(this.language).find((one) => one.localService);
    if (!voice) return false;
    /* Kept in the object: browsers have forgotten utterances that nothing referred to, with their end. */
    this.utterance = new SpeechSynthesisUtterance(text);
    Object.assign(this.utterance, { voice, lang: voice.lang, rate }); /* Chrome on Android goes by `lang` alone. */
    return new Promise((done) => {
      this.interrupt = this.utterance.onerror = () => done(false);
      this.utterance.onend = () => done(true);
      setTimeout(this.interrupt, PATIENCE + PATIENCE_PER_CHARACTER * text.length);
      speechSynthesis.speak(this.utterance);
    });
  }
}

/* Return the browser's voices for a language, the best first. */
function voicesFor(language) {
  const [wanted] = language.split("-");
  const rank = (voice) => 4 * !ODD.test(voice.name) + 2 * voice.default + navigator.languages.includes(voice.lang);
  const isFor = ({ lang }) => {
    const tag = lang.toLowerCase().replace("_", "-");
    const [code] = tag.split("-");
    return (CODES[tag] || CODES[code] || code) === wanted;
  };
  return speechSynthesis.getVoices().filter(isFor).sort((one, other) => rank(other) - rank(one));
}
