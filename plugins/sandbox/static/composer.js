/** Where messages are written: who speaks, whether the bot is mentioned, text, a pasted picture, files. */

import { summary } from "./chat_list.js";
import { usePage } from "./context.js";
import { Icon } from "./icons.js";
import { directory } from "./person.js";
import { UploadTray } from "./upload_tray.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const TALLEST_PX = 168;

// What was begun in one chat waits there while another is open.
const drafts = new Map();

/** The picture in what was pasted, if there is one and no text that is meant instead. */
function pictureOf(clipboard) {
  return clipboard.types.includes("text/plain") ? null : ([...clipboard.files].find((file) => PICTURES.has(file.type)) ?? null);
}

export function Composer({ chat, stage, bot, speaker, replyTo, uploads, connected, narrow }) {
  const { words, actions } = usePage();
  const draft = drafts.get(chat.id) ?? { text: "", at: chat.kind === "group", picture: null };
  const [text, setText] = useState(draft.text);
  const [at, setAt] = useState(draft.at);
  const [picture, setPicture] = useState(draft.picture);
  const [busy, setBusy] = useState(false);
  const area = useRef(null);
  const files = useRef(null);
  const preview = usePreview(picture);
  drafts.set(chat.id, { text, at, picture });

  const reason = !connected ? words.cannot_send : bot.connected ? "" : words.cannot_send_bot;
  const ready = !reason && !busy && (text.trim() !== "" || picture !== null);

  useLayoutEffect(() => {
    area.current.style.height = "auto";
    area.current.style.height = `${Math.min(area.current.scrollHeight + 2, TALLEST_PX)}px`;
  }, [text]);
  useEffect(() => {
    if (replyTo) {
      area.current.focus();
    }
  }, [replyTo?.id]);

  function submit() {
    if (!ready) {
      return;
    }
    if (picture) {
      setBusy(true);
      actions.sayWithImage(chat, { file: picture, text, at }, (sent) => {
        setBusy(false);
        if (sent) {
          clear();
        }
      });
    } else if (actions.say(chat, text, at)) {
      clear();
    }
    area.current.focus();
  }

  function clear() {
    setText("");
    setPicture(null);
  }

  function onKeyDown(event) {
    // Enter in an input method chooses a word. Safari says so only by the old key code.
    const choosing = event.isComposing || event.keyCode === 229;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey && !choosing) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && replyTo && !choosing) {
      actions.replyTo(chat, null);
    }
  }

  function onPaste(event) {
    const pasted = pictureOf(event.clipboardData);
    if (pasted) {
      event.preventDefault();
      setPicture(pasted);
    } else if (event.clipboardData.files.length && !event.clipboardData.types.includes("text/plain")) {
      event.preventDefault();
      actions.sendFiles(chat, [...event.clipboardData.files]);
    }
  }

  function onFiles(event) {
    actions.sendFiles(chat, [...event.currentTarget.files]);
    event.currentTarget.value = "";
  }

  const person = directory(chat);
  return html`<form class="composer" aria-label=${words.composer} onSubmit=${(event) => (event.preventDefault(), submit())}>
    <${UploadTray} uploads=${uploads} limit=${stage.limits?.file_bytes} />
    ${replyTo &&
    html`<div class="attached">
      <${Icon} name="reply" />
      <span class="attached-text"><b>${words.replying(person(replyTo.sender).name)}</b> ${summary(replyTo, words)}</span>
      <button type="button" class="quiet square" aria-label=${words.drop_reply} onClick=${() => actions.replyTo(chat, null)}><${Icon} name="close" /></button>
    </div>`}
    ${picture &&
    html`<div class="attached">
      ${preview && html`<img class="preview" src=${preview} alt=${words.pasted} />`}
      <span class="attached-text">${picture.name}</span>
      <button type="button" class="quiet square" aria-label=${words.drop_image} disabled=${busy} onClick=${() => setPicture(null)}><${Icon} name="close" /></button>
    </div>`}
    <div class="composer-tools">
      ${chat.kind === "group" &&
      html`<label class="speak-as">
          <span>${words.speak_as}</span>
          <select value=${speaker} onChange=${(event) => actions.speakAs(event.currentTarget.value)}>
            ${stage.people.map(
              ({ id, name, role }) => html`<option key=${id} value=${id} selected=${id === speaker}>${words.speaker(name, words.roles[role] ?? role)}</option>`,
            )}
          </select>
        </label>
        <label class="toggle" title=${words.at_hint}>
          <input type="checkbox" checked=${at} onChange=${(event) => setAt(event.currentTarget.checked)} />
          <span>${words.at_bot(bot.name)}</span>
        </label>`}
      <span class="spacer"></span>
      <button type="button" class="quiet" aria-label=${words.send_file} disabled=${!connected} onClick=${() => files.current.click()}>
        <${Icon} name="file" /><span class="wide-only">${words.send_file}</span>
      </button>
      <input ref=${files} type="file" multiple hidden aria-label=${words.send_file} onChange=${onFiles} />
    </div>
    <div class="composer-line">
      <textarea
        maxlength="10000"
        id="message"
        ref=${area}
        rows="1"
        aria-label=${words.message}
        aria-describedby=${reason ? "cannot-send" : undefined}
        placeholder=${narrow ? words.placeholder_short : words.placeholder}
        enterkeyhint="send"
        value=${text}
        onInput=${(event) => setText(event.currentTarget.value)}
        onKeyDown=${onKeyDown}
        onPaste=${onPaste}
      ></textarea>
      <button type="submit" class="primary send" disabled=${!ready} aria-label=${words.send} aria-describedby=${reason ? "cannot-send" : undefined}>
        <${Icon} name="send" /><span class="wide-only">${words.send}</span>
      </button>
    </div>
    ${reason && html`<p class="cannot-send" id="cannot-send">${reason}</p>`}
  </form>`;
}

/** An address for a file that was pasted, given back when it is no longer shown. */
function usePreview(file) {
  const [address, setAddress] = useState("");
  useEffect(() => {
    if (!file) {
      setAddress("");
      return undefined;
    }
    const made = URL.createObjectURL(file);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return address;
}
